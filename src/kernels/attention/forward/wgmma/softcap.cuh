#pragma once
// Softcap where scores wait in registers. tanh as in score.cuh takes two operations of the exponential units, which are
// the bottleneck, besides the weight's one. Here a row takes none if all its scores with a tile of keys are small
// against the cap, as most are: a polynomial gives tanh of those. Another row's takes 1 + 1 / N, as N scores share a
// reciprocal (P. Montgomery, 1987): 1 / a = b / (a b).
//
// Each row goes its own way: its bits must not depend on those of other rows of the warp. tanh is in units of kTanhUnit
// either way.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/softcap_unit.hpp"
#include "kernels/attention/softmax.cuh"

namespace flashfit {

/// |x| is below 2 if and only if this bit of it is not set. Infinities and NaN have it.
inline constexpr uint32 kBitOfLarge = 0x40000000;

/// tanh(y), y = x ln 2 / 2, for |x| < 2, within 2^-20 of itself: x times a polynomial of degree 4 in x^2, as
/// (u^2 + c)^2 + d u + e of u = x^2 + b. tools/dev/tanh_polynomial.py derives the coefficients.
inline constexpr float kOfSquare = 156.674759f;
inline float tanh_of_small(float x, float of_square = kOfSquare) {
  const float u = arch::multiply_add(x, x, -7.63243198f);
  const float square = arch::multiply_add(u, u, of_square);
  const float line = arch::multiply_add(u, -7285.46436f, 244083.031f);
  return x * arch::multiply_add(square, square, line);
}

/// N x become tanh(y), y = x ln 2 / 2: within 2^-20 (kTanhUnit aside), and within 2^-15 of themselves. Right at both
/// infinities; a NaN stays one, and the others are as without it.
template <int N>
void tanh_of_half_log2(float (&x)[N]) {
  static_assert(N <= 4);
  // From here on tanh is 1 in fp32. A product of four is in fp32's range, and so is its reciprocal.
  constexpr float kMost = 30.f;
  // For y below 2^-5, where 1 - 2 / (2^x + 1) cancels, the series: y - y^3 / 3.
  constexpr float kSeriesSquare = 0.00813034757f, kCubic = -0.0400377511f;
  constexpr float kOne = 1.f / kTanhUnit, kHalfLn2 = 0.346573590279972655f * kOne;
  float a[N], products[N];  // 2^x + 1, and of all up to here
#pragma unroll
  for (int i = 0; i < N; ++i) {
    a[i] = arch::exp2(-arch::max(-x[i], -kMost)) + 1.f;  // of a NaN too this is a number
    products[i] = i == 0 ? a[0] : products[i - 1] * a[i];
  }
  float inverse = arch::reciprocal(products[N - 1]) * (-2.f * kOne);  // of the product up to here, times -2
#pragma unroll
  for (int i = N - 1; i >= 0; --i) {
    const float of_this = i == 0 ? inverse : inverse * products[i - 1];
    inverse *= a[i];
    const float square = x[i] * x[i], y = x[i] * kHalfLn2;
    x[i] = square >= kSeriesSquare ? kOne + of_this : arch::multiply_add(y * square, kCubic, y);
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

/// Whether one of a lane's x of a row is large.
template <int H, int N8>
bool has_large(const float (&x)[N8][4]) {
  uint32 bits = 0;
#pragma unroll
  for (int n = 0; n < 2 * N8; ++n) bits |= __builtin_bit_cast(uint32, x[n / 2][2 * H + n % 2]);
  return (bits & kBitOfLarge) != 0;
}

/// Products that a lane has of a tile of keys, times softcap_x: x of tanh.
template <int N8>
void scale_products(float (&c)[1][N8][4], float softcap_x) {
#pragma unroll
  for (int n = 0; n < N8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) c[0][n][i] *= softcap_x;
}
/// Whether a row of the warp has a large x.
template <int N8>
bool any_is_large(const float (&c)[1][N8][4]) {
  return arch::ballot(has_large<0>(c[0]) || has_large<1>(c[0])) != 0;
}
/// Small x become weights, and `sums` what exponentiate() makes of them, in the same order. tanh of 8 keys is computed
/// while the exponential units have the 8 before. The compiler would compute all tanh first, and each unit would wait
/// for the other one: so a coefficient seems to depend on a weight of two tiles of 8 keys before. `zero` is 0, which
/// the compiler must not know.
template <int N8>
void weigh_small(float (&c)[1][N8][4], float (&sums)[1][2], const RowState (&rows)[1][2], float scale_log2,
                 uint32 zero) {
  float sum[4] = {};
#pragma unroll
  for (int n = 0; n <= N8; ++n) {
    if (n < N8) {
      const uint32 before = n < 2 ? 0 : __builtin_bit_cast(uint32, c[0][n - 2][0]);
      const float of_square = __builtin_bit_cast(float, (before & zero) | __builtin_bit_cast(uint32, kOfSquare));
#pragma unroll
      for (int i = 0; i < 4; ++i) c[0][n][i] = tanh_of_small(c[0][n][i], of_square);
    }
    if (n == 0) continue;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float& x = c[0][n - 1][i];
      x = arch::exp2(arch::multiply_add(x, scale_log2, -rows[0][i / 2].base));
      sum[i] += x;
    }
  }
#pragma unroll
  for (int h = 0; h < 2; ++h) sums[0][h] = sum[2 * h] + sum[2 * h + 1];
}

/// Each row goes its way: four neighbouring lanes share it. N of a row share a reciprocal.
template <int N, int N8>
void tanh_of_rows(float (&c)[1][N8][4]) {
  const auto row_is_large = [](bool in_lane) { return (arch::ballot(in_lane) >> (arch::lane() & ~3) & 15) != 0; };
  const bool is_large[2] = {row_is_large(has_large<0>(c[0])), row_is_large(has_large<1>(c[0]))};
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
