#pragma once
// Softcap where scores wait in registers. tanh as in score.cuh takes two operations of the exponential units, which are
// the bottleneck, besides the weight's one. Here a polynomial gives tanh of scores that are small against the cap, as
// most are. Only where a warp's tile has larger ones does 1 - 2 / (2^z + 1) give those: N scores share a reciprocal
// (P. Montgomery, 1987): 1 / a = b / (a b).
//
// A small score's tanh is the polynomial's in either case. So no row's result depends on what other rows of the warp
// have.
#include "kernels/arch/arch.hpp"

namespace flashfit {

/// From this magnitude of x on, tanh(x / 4) is not the polynomial's. A power of 2, so that one bit of x tells: that of
/// infinities and of any NaN is set, too.
inline constexpr float kLeastLarge = 2.f;
inline constexpr uint32 kBitOfLarge = 0x40000000;

inline bool is_large(float x) { return x * x >= kLeastLarge * kLeastLarge; }  // not of a NaN

/// tanh(x / 4) for small x, within 2^-20 of itself; a NaN stays one. tools/dev/tanh_polynomial.py derives the
/// coefficients.
inline float tanh_of_small(float x) {
  const float square = x * x;
  float sum = arch::multiply_add(square, -2.71009685e-06f, 0.000128811487f);
  sum = arch::multiply_add(square, sum, -0.00520723732f);
  sum = arch::multiply_add(square, sum, 0.249999866f);
  return x * sum;
}

/// 2^z + 1, where 2^z is e^(x / 2). Where x is so large that tanh(x / 4) is 1 in fp32, z is 30, so that a product of
/// four is in fp32's range, and so is its reciprocal. Of a NaN, too, it is a number.
inline float power_and_one(float x) {
  constexpr float kHalfLog2E = 0.721347520f, kMost = 30.f;
  return arch::exp2(-arch::max(x * -kHalfLog2E, -kMost)) + 1.f;
}

/// Large ones of several x become tanh(x / 4), within 2^-20, and are right at both infinities. The others stay; so does
/// a NaN.
inline void take_tanh(float& x, float inverse, float factor) {
  const float tanh = arch::multiply_add(inverse, factor, 1.f);
  x = is_large(x) ? tanh : x;
}
inline void tanh_of_large(float& x0, float& x1) {
  const float a0 = power_and_one(x0), a1 = power_and_one(x1), inverse = arch::reciprocal(a0 * a1) * -2.f;
  take_tanh(x0, inverse, a1);
  take_tanh(x1, inverse, a0);
}
inline void tanh_of_large(float& x0, float& x1, float& x2, float& x3) {
  const float a0 = power_and_one(x0), a1 = power_and_one(x1), a2 = power_and_one(x2), a3 = power_and_one(x3);
  const float a01 = a0 * a1, a23 = a2 * a3, inverse = arch::reciprocal(a01 * a23) * -2.f;
  const float inverse01 = inverse * a23, inverse23 = inverse * a01;
  take_tanh(x0, inverse01, a1);
  take_tanh(x1, inverse01, a0);
  take_tanh(x2, inverse23, a3);
  take_tanh(x3, inverse23, a2);
}

/// x of n8 tiles Begin .. End - 1 become tanh(x / 4); N of one row share a reciprocal.
template <int N, int Begin, int End, int N8>
void tanh_of_any(float (&x)[N8][4]) {
  static_assert(N == 2 || N == 4);
  // Small ones first, whose tanh is small, too. Both ways at once would take registers that there are not. From the
  // last one on: else the compiler sees that the vote's other way begins alike, and takes registers for that before it.
#pragma unroll
  for (int n = End - 1; n >= Begin; --n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float tanh = tanh_of_small(x[n][i]);
      x[n][i] = is_large(x[n][i]) ? x[n][i] : tanh;
    }
#pragma unroll
  for (int n = Begin; n < End; n += N / 2)
#pragma unroll
    for (int i = 0; i < 4; i += 2) {
      if constexpr (N == 2)
        tanh_of_large(x[n][i], x[n][i + 1]);
      else
        tanh_of_large(x[n][i], x[n][i + 1], x[n + 1][i], x[n + 1][i + 1]);
    }
}

/// The same for n8 tiles from Begin on, in parts: most have no large score.
template <int N, int Begin = 0, int N8>
void tanh_of_fourths(float (&x)[N8][4]) {
  constexpr int kPart = 8, kEnd = Begin + kPart < N8 ? Begin + kPart : N8;
  uint32 bits = 0;
#pragma unroll
  for (int n = Begin; n < kEnd; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) bits |= __builtin_bit_cast(uint32, x[n][i]);
  if (arch::ballot((bits & kBitOfLarge) != 0) == 0) [[likely]] {
#pragma unroll
    for (int n = Begin; n < kEnd; ++n)
#pragma unroll
      for (int i = 0; i < 4; ++i) x[n][i] = tanh_of_small(x[n][i]);
  } else {
    tanh_of_any<N, Begin, kEnd>(x);
  }
  if constexpr (kEnd < N8) tanh_of_fourths<N, kEnd>(x);
}

/// All products that a lane has of a tile of keys become tanh of them over the cap.
template <int N, int N8>
void cap_products(float (&c)[1][N8][4], float softcap_x) {
#pragma unroll
  for (int n = 0; n < N8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) c[0][n][i] *= softcap_x;
  tanh_of_fourths<N>(c[0]);
}

}  // namespace flashfit
