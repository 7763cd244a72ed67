#pragma once
// Softcap where scores wait in registers. tanh as in score.cuh takes two operations of the exponential units, which are
// the bottleneck, besides the weight's one. Here a row takes none if all its scores with a tile of keys are small
// against the cap, as most are: a polynomial gives tanh of those. Another row's takes 1 + 1 / N, as N scores share a
// reciprocal (P. Montgomery, 1987): 1 / a = b / (a b).
//
// Each row goes its own way: its bits must not depend on those of other rows of the warp.
#include "kernels/arch/arch.hpp"

namespace flashfit {

/// |x| is below 2 if and only if this bit of it is not set. Infinities and NaN have it.
inline constexpr uint32 kBitOfLarge = 0x40000000;

/// tanh(y), y = x ln 2 / 2, for |x| < 2, within 2^-20 of itself. tools/dev/tanh_polynomial.py derives the coefficients.
inline float tanh_of_small(float x) {
  const float square = x * x;
  float sum = arch::multiply_add(square, 1.00199566e-06f, -3.05906542e-05f);
  sum = arch::multiply_add(square, sum, 0.000664196559f);
  sum = arch::multiply_add(square, sum, -0.0138748158f);
  sum = arch::multiply_add(square, sum, 0.346573502f);
  return x * sum;
}

/// N x become tanh(y), y = x ln 2 / 2: within 2^-20, and within 2^-15 of themselves. Right at both infinities; a NaN
/// stays one, and the others are as without it.
template <int N>
void tanh_of_half_log2(float (&x)[N]) {
  static_assert(N <= 4);
  // From here on tanh is 1 in fp32. A product of four is in fp32's range, and so is its reciprocal.
  constexpr float kMost = 30.f;
  // For y below 2^-5, where 1 - 2 / (2^x + 1) cancels, the series: y - y^3 / 3.
  constexpr float kSeriesSquare = 0.00813034757f, kHalfLn2 = 0.346573590279972655f, kCubic = -0.0400377511f;
  float a[N], products[N];  // 2^x + 1, and of all up to here
#pragma unroll
  for (int i = 0; i < N; ++i) {
    a[i] = arch::exp2(-arch::max(-x[i], -kMost)) + 1.f;  // of a NaN too this is a number
    products[i] = i == 0 ? a[0] : products[i - 1] * a[i];
  }
  float inverse = arch::reciprocal(products[N - 1]) * -2.f;  // of the product up to here, times -2
#pragma unroll
  for (int i = N - 1; i >= 0; --i) {
    const float of_this = i == 0 ? inverse : inverse * products[i - 1];
    inverse *= a[i];
    const float square = x[i] * x[i], y = x[i] * kHalfLn2;
    x[i] = square >= kSeriesSquare ? 1.f + of_this : arch::multiply_add(y * square, kCubic, y);
  }
}

/// x of all keys of a row become tanh(x ln 2 / 2): H says which of a lane's two rows.
template <int H, int N8>
void tanh_of_small_row(float (&x)[N8][4]) {
#pragma unroll
  for (int n = 0; n < 2 * N8; ++n) {
    float& one = x[n / 2][2 * H + n % 2];
    one = tanh_of_small(one);
  }
}
template <int N, int H, int N8>
void tanh_of_row(float (&x)[N8][4]) {
  static_assert(N8 * 2 % N == 0);
#pragma unroll
  for (int n = 0; n < 2 * N8; n += N) {
    float some[N];
#pragma unroll
    for (int i = 0; i < N; ++i) some[i] = x[(n + i) / 2][2 * H + (n + i) % 2];
    tanh_of_half_log2(some);
#pragma unroll
    for (int i = 0; i < N; ++i) x[(n + i) / 2][2 * H + (n + i) % 2] = some[i];
  }
}

/// Whether a row has a large x: four neighbouring lanes share it.
template <int H, int N8>
bool row_is_large(const float (&x)[N8][4]) {
  uint32 bits = 0;
#pragma unroll
  for (int n = 0; n < 2 * N8; ++n) bits |= __builtin_bit_cast(uint32, x[n / 2][2 * H + n % 2]);
  return (arch::ballot((bits & kBitOfLarge) != 0) >> (arch::lane() & ~3) & 15) != 0;
}

/// All products that a lane has of a tile of keys become tanh of them over the cap; N of one row share a reciprocal.
template <int N, int N8>
void cap_products(float (&c)[1][N8][4], float softcap_x) {
#pragma unroll
  for (int n = 0; n < N8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) c[0][n][i] *= softcap_x;
  const bool is_large[2] = {row_is_large<0>(c[0]), row_is_large<1>(c[0])};
  if (is_large[0])
    tanh_of_row<N, 0>(c[0]);
  else
    tanh_of_small_row<0>(c[0]);
  if (is_large[1])
    tanh_of_row<N, 1>(c[0]);
  else
    tanh_of_small_row<1>(c[0]);
}

}  // namespace flashfit
