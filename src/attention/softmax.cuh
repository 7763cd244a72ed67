#pragma once
// Online softmax over key tiles (Milakov and Gimelshein, 2018, "Online normalizer calculation for softmax").
#include "arch/arch.hpp"
#include "attention/mask.cuh"

namespace flashfit {

/// Neither NaN nor an infinity.
inline bool is_finite(float x) { return x * 0.f == 0.f; }

inline constexpr float kLog2E = 1.44269504088896341f;

/// The running maximum of unscaled scores and the sum of exp2((score - max) * scale_log2) of one row. The sum is this
/// lane's share; a row lies in four neighbouring lanes.
struct RowState {
  float max = kMinusInfinity, sum = 0;
};

/// Reduces over the four lanes that hold a row.
inline float row_max(float x) {
  x = arch::max(x, arch::shuffle_xor(x, 1));
  return arch::max(x, arch::shuffle_xor(x, 2));
}
inline float row_sum(float x) {
  x += arch::shuffle_xor(x, 1);
  return x + arch::shuffle_xor(x, 2);
}

/// Scores of the next key tile -> weights relative to the new maximum, in place; the row states and the output so far
/// follow the maximum. scale_log2 = softmax_scale * log2(e) > 0:
/// the scale costs nothing, as it is folded into exp2's argument.
template <int M, int N8, int O8>
void softmax_step(float (&s)[M][N8][4], float (&o)[M][O8][4], RowState (&rows)[M][2], float scale_log2) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      RowState& row = rows[m][h];
      float top = row.max;
#pragma unroll
      for (int n = 0; n < N8; ++n) top = arch::max(top, arch::max(s[m][n][2 * h], s[m][n][2 * h + 1]));
      top = row_max(top);
      // A row that has seen no key yet has max = -inf: subtracting 0 instead leaves exp2(-inf) = 0 and not a NaN.
      const float base = (top == kMinusInfinity ? 0.f : top) * scale_log2;
      const float decay = arch::exp2(row.max * scale_log2 - base);
      float sum = row.sum * decay;
#pragma unroll
      for (int n = 0; n < N8; ++n)
#pragma unroll
        for (int i = 2 * h; i < 2 * h + 2; ++i) {
          s[m][n][i] = arch::exp2(s[m][n][i] * scale_log2 - base);
          sum += s[m][n][i];
        }
#pragma unroll
      for (int n = 0; n < O8; ++n) {
        o[m][n][2 * h] *= decay;
        o[m][n][2 * h + 1] *= decay;
      }
      row = {top, sum};
    }
}

}  // namespace flashfit
