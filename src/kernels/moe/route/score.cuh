#pragma once
// What an expert scores by its own logit, where a router takes no softmax. In fp32, within 3 units in the last place,
// of operations that IEEE 754 rounds: the same bits on every GPU and under the emulator.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/route/config.hpp"
#include "kernels/moe/route/exp.cuh"

namespace flashfit {

/// 1 / (1 + exp(-x)), of the exponential that cannot overflow.
inline float sigmoid(float x) {
  const float e = exp_nonpositive(x < 0.0f ? x : -x);
  return (x < 0.0f ? e : 1.0f) / (1.0f + e);
}

/// log(1 + e) of e from 0 to 1: log((1 + s) / (1 - s)) of s = e / (2 + e) is 2 (s + s^3 / 3 + s^5 / 5 + ...). As s is
/// at most 1 / 3, what comes after s^15 is below 2^-29 of the sum.
inline float log1p_of_share(float e) {
  const float s = e / (2.0f + e), square = s * s, twice = 2.0f * s;
  float sum = 1.0f / 15;
  sum = arch::multiply_add(sum, square, 1.0f / 13);
  sum = arch::multiply_add(sum, square, 1.0f / 11);
  sum = arch::multiply_add(sum, square, 1.0f / 9);
  sum = arch::multiply_add(sum, square, 1.0f / 7);
  sum = arch::multiply_add(sum, square, 1.0f / 5);
  sum = arch::multiply_add(sum, square, 1.0f / 3);
  return arch::multiply_add(twice, sum * square, twice);
}

/// The square root of a normal number above 0; infinity and NaN stay. Half of the bits, which have the exponent first,
/// are within 5 %, and each of Heron's steps squares the error.
inline float square_root(float y) {
  float root = __builtin_bit_cast(float, 0x1fbd1df5u + (__builtin_bit_cast(uint32, y) >> 1));
#pragma unroll
  for (int i = 0; i < 3; ++i) root = 0.5f * (root + y / root);
  return y <= 0x1.fffffep127f ? root : y;
}

/// sqrt(log(1 + exp(x))), with log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), of which no term overflows. Far below
/// 0 it is exp(x / 2) to less than fp32's rounding, where exp(x) would be lost.
inline float sqrt_softplus(float x) {
  if (x < kFarBelowZero) return exp_nonpositive(0.5f * x);
  return square_root((x > 0.0f ? x : 0.0f) + log1p_of_share(exp_nonpositive(x > 0.0f ? -x : x)));
}

inline float score_of(Score kind, float x) { return kind == Score::kSigmoid ? sigmoid(x) : sqrt_softplus(x); }

}  // namespace flashfit
