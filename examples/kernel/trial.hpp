#pragma once
// The product on numbers whose products and sums are exact, so that the answer is known to the bit.
#include <gemm.cuh>  // by the search path, so that another kernel may take its place
#include <string>
#include <vector>

#include "core/base/half.hpp"
#include "proof/lab/trial.hpp"

namespace example {

inline float number(int row, int col) { return static_cast<float>((row * 7 + col * 3) % 9 - 4); }

inline std::vector<flashfit::f16> matrix(int rows, int cols) {
  std::vector<flashfit::f16> values;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < cols; ++c) values.push_back(flashfit::from_float<flashfit::f16>(number(r, c)));
  return values;
}

inline flashfit::lab::Trial<Gemm> gemm_trial(int m, int n, int k) {
  constexpr int kTile = Gemm::kTile;
  flashfit::lab::Trial<Gemm> trial{
      "gemm", {(n + kTile - 1) / kTile, (m + kTile - 1) / kTile}, {}, [=](const flashfit::lab::Where& where) {
        return Gemm::Params{
            where.as<const flashfit::f16>(0), where.as<const flashfit::f16>(1), where.as<float>(2), m, n, k};
      }};
  trial.buffers = {{"a", matrix(m, k)}, {"b", matrix(n, k)}, {"c", sizeof(float) * m * n, true}};
  return trial;
}

/// The first element of c that is wrong, in words, or "".
inline std::string mistake(flashfit::lab::Trial<Gemm>& trial, int m, int n, int k) {
  for (int row = 0; row < m; ++row)
    for (int col = 0; col < n; ++col) {
      float right = 0;
      for (int i = 0; i < k; ++i) right += number(row, i) * number(col, i);
      const float got = trial.buffers[2].as<float>()[static_cast<std::size_t>(row) * n + col];
      if (got != right)
        return "c[" + std::to_string(row) + "][" + std::to_string(col) + "] is " + std::to_string(got) + ", not " +
               std::to_string(right);
    }
  return {};
}

}  // namespace example
