#pragma once
// Cases of matrix instructions. Part of matrix_cases.hpp.
#include <fmt/format.h>

namespace flashfit::testing {

template <class T, int N, int K, SwizzleMode Mode, Major A, Major B>
MatrixCase<ProductKernel<T, N, K, Mode, A, B>> product() {
  constexpr int kARows = A == Major::kK ? 64 : K, kACols = A == Major::kK ? K : 64;
  constexpr int kBRows = B == Major::kK ? N : K, kBCols = B == Major::kK ? K : N;
  std::vector<float> want;
  for (int m = 0; m < 64; ++m)
    for (int n = 0; n < N; ++n) {
      float sum = 0;
      for (int k = 0; k < K; ++k)
        sum += integer(A == Major::kK ? m : k, A == Major::kK ? k : m, 0) *
               integer(B == Major::kK ? n : k, B == Major::kK ? k : n, 1);
      want.push_back(sum);
    }
  const auto major = [](Major m) { return m == Major::kK ? "kK" : "kMN"; };
  return {fmt::format("flashfit::testing::ProductKernel<{}, {}, {}, flashfit::SwizzleMode::{}, flashfit::Major::{}, "
                      "flashfit::Major::{}>",
                      kSpelled<T>, N, K, spelled(Mode), major(A), major(B)),
          fmt::format("m64n{}k{}, a {}, b {}, {}", N, K, major(A), major(B), name_of(Mode)),
          {bytes_of(matrix<T>(kARows, kACols, 0)), bytes_of(matrix<T>(kBRows, kBCols, 1))},
          blank(want.size() * 4),
          bytes_of(want),
          [](const std::vector<const void*>& in, void* out, const EncodeMap& encode) {
            return typename ProductKernel<T, N, K, Mode, A, B>::Params{
                encode(matrix_spec<T>(in[0], kARows, kACols, kARows, Mode)),
                encode(matrix_spec<T>(in[1], kBRows, kBCols, kBRows, Mode)), static_cast<float*>(out)};
          }};
}

template <class T, int D>
MatrixCase<TwoGroupsKernel<T, D>> two_groups() {
  const auto ternary = [](int row, int col, int salt) {
    return static_cast<float>((row * 5 + col * 3 + row * col % 7 + salt) % 3 - 1);
  };
  const auto make = [&](int rows, int salt) {
    std::vector<T> values;
    for (int r = 0; r < rows; ++r)
      for (int c = 0; c < D; ++c) values.push_back(from_float<T>(ternary(r, c, salt)));
    return values;
  };
  std::vector<float> want(64 * D);
  for (int m = 0; m < 64; ++m)
    for (int key = 0; key < 128; ++key) {
      float x = 0;
      for (int d = 0; d < D; ++d) x += ternary(m, d, 0) * ternary(key, d, 1);
      for (int d = 0; d < D; ++d) element(want, m * D + d) += to_float(from_float<T>(x / 2)) * ternary(key, d, 2);
    }
  return {fmt::format("flashfit::testing::TwoGroupsKernel<{}, {}>", kSpelled<T>, D),
          fmt::format("two groups in flight, head dim {}", D),
          {bytes_of(make(64, 0)), bytes_of(make(128, 1)), bytes_of(make(128, 2))},
          blank(want.size() * 4),
          bytes_of(want),
          [](const std::vector<const void*>& in, void* out, const EncodeMap& encode) {
            constexpr SwizzleMode kMode = SwizzleMode::k128B;
            return typename TwoGroupsKernel<T, D>::Params{
                encode(matrix_spec<T>(in[0], 64, D, 64, kMode)), encode(matrix_spec<T>(in[1], 128, D, 64, kMode)),
                encode(matrix_spec<T>(in[2], 128, D, 64, kMode)), static_cast<float*>(out)};
          }};
}

template <class Kernel>
MatrixCase<Kernel> probe(const char* name, Bytes expected) {
  Bytes output = blank(expected.size());
  return {fmt::format("flashfit::testing::{}", name),
          fmt::format("the map of {}", name),
          {},
          std::move(output),
          std::move(expected),
          [](const std::vector<const void*>&, void* out, const EncodeMap&) {
            return typename Kernel::Params{static_cast<decltype(Kernel::Params::out)>(out)};
          }};
}

/// 16 x 16 numbers as ldmatrix and stmatrix deal them out: (row, col) of half h of register i of a lane.
inline int dealt_row(int lane, int i, bool trans, int h) { return i % 2 * 8 + (trans ? lane % 4 * 2 + h : lane / 4); }
inline int dealt_col(int lane, int i, bool trans, int h) { return i / 2 * 8 + (trans ? lane / 4 : lane % 4 * 2 + h); }

inline Bytes ldmatrix_registers() {
  std::vector<uint32> want;
  for (const bool trans : {false, true})
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const auto at = [&](int h) {
          return static_cast<uint32>(dealt_row(lane, i, trans, h) * 16 + dealt_col(lane, i, trans, h));
        };
        want.push_back(at(0) | at(1) << 16);
      }
  return bytes_of(want);
}
inline Bytes stmatrix_image() {
  std::vector<unsigned short> want(512);
  for (const bool trans : {false, true})
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i)
        for (int h = 0; h < 2; ++h)
          element(want, (trans ? 256 : 0) + dealt_row(lane, i, trans, h) * 16 + dealt_col(lane, i, trans, h)) =
              static_cast<unsigned short>(8 * lane + 2 * i + h);
  return bytes_of(want);
}
inline Bytes mma_results() {
  std::vector<float> want;
  for (int part = 0; part < 3; ++part)
    for (int lane = 0; lane < 32; ++lane)
      for (int i = 0; i < 4; ++i) {
        const int m = AccumulatorMap::row(lane, i), n = AccumulatorMap::col(lane, i) + (part == 1 ? 8 : 0);
        // The register of A that holds (m, n): rows in turns of lanes / 4, then 8 down; columns 2 a lane, then 8 right.
        const int holder = m % 8 * 4 + n % 8 / 2, half = m / 8 + n / 8 * 2;
        want.push_back(static_cast<float>(part == 2 ? m + 16 * n : 8 * holder + 2 * half + n % 2));
      }
  return bytes_of(want);
}

template <int N>
MatrixCase<WgmmaProbe<N>> wgmma_probe() {
  std::vector<float> want;
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < N / 2; ++i)
      want.push_back(static_cast<float>(WgmmaAccumulatorMap::row(t, i) + 64 * WgmmaAccumulatorMap::col(t, i)));
  std::vector<float> codes(64 * 16);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 4; ++i)
      for (int h = 0; h < 2; ++h)
        element(codes, WgmmaAMap::row(t, i) * 16 + WgmmaAMap::col(t, i, h)) = static_cast<float>(8 * t + 2 * i + h);
  for (int t = 0; t < 128; ++t)
    for (int i = 0; i < 8; ++i)
      want.push_back(element(codes, WgmmaAccumulatorMap::row(t, i) * 16 + WgmmaAccumulatorMap::col(t, i)));
  return {fmt::format("flashfit::testing::WgmmaProbe<{}>", N),
          fmt::format("the maps of wgmma m64n{}", N),
          {},
          blank(want.size() * 4),
          bytes_of(want),
          [](const std::vector<const void*>&, void* out, const EncodeMap&) {
            auto* const d = static_cast<float*>(out);
            return typename WgmmaProbe<N>::Params{d, d + 64 * N};
          }};
}

template <class Visit>
void for_each_product_case(Visit visit) {
  visit(product<f16, 64, 64, SwizzleMode::kNone, Major::kK, Major::kK>());
  visit(product<bf16, 64, 32, SwizzleMode::k32B, Major::kK, Major::kK>());
  visit(product<f16, 80, 96, SwizzleMode::k64B, Major::kK, Major::kK>());
  visit(product<f16, 176, 128, SwizzleMode::k128B, Major::kK, Major::kK>());
  visit(product<bf16, 64, 48, SwizzleMode::kNone, Major::kK, Major::kMN>());
  visit(product<f16, 96, 32, SwizzleMode::k32B, Major::kK, Major::kMN>());
  visit(product<f16, 96, 64, SwizzleMode::k64B, Major::kK, Major::kMN>());
  visit(product<bf16, 256, 64, SwizzleMode::k128B, Major::kK, Major::kMN>());
  visit(product<f16, 128, 80, SwizzleMode::kNone, Major::kMN, Major::kMN>());
  visit(product<f16, 64, 48, SwizzleMode::k32B, Major::kMN, Major::kMN>());
  visit(product<f16, 32, 64, SwizzleMode::k64B, Major::kMN, Major::kMN>());
  visit(product<bf16, 192, 64, SwizzleMode::k128B, Major::kMN, Major::kK>());
  visit(two_groups<f16, 64>());
  visit(two_groups<bf16, 128>());
  visit(probe<LdmatrixProbe>("LdmatrixProbe", ldmatrix_registers()));
  visit(probe<StmatrixProbe>("StmatrixProbe", stmatrix_image()));
  visit(probe<MmaProbe>("MmaProbe", mma_results()));
  visit(wgmma_probe<8>());
  visit(wgmma_probe<256>());
}

}  // namespace flashfit::testing
