#pragma once
// Softcap where exponential units are the bottleneck: the same tanh as in score.cuh, where it takes two of their
// operations. Here it takes 1 + 1 / N, as N scores share a reciprocal (P. Montgomery, 1987): 1 / a = b / (a b).
#include "kernels/arch/arch.hpp"

namespace flashfit {

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

/// All products that a lane has of a tile of keys become tanh of them over the cap; N of one row share a reciprocal.
template <int N, int N8>
void cap_products(float (&c)[1][N8][4], float softcap_x) {
  static_assert(N8 * 2 % N == 0);
#pragma unroll
  for (int n = 0; n < 2 * N8; n += N)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float some[N];
#pragma unroll
      for (int i = 0; i < N; ++i) some[i] = c[0][(n + i) / 2][2 * h + (n + i) % 2] * softcap_x;
      tanh_of_half_log2(some);
#pragma unroll
      for (int i = 0; i < N; ++i) c[0][(n + i) / 2][2 * h + (n + i) % 2] = some[i];
    }
}

}  // namespace flashfit
