#pragma once
#include "kernels/arch/arch.hpp"

namespace flashfit {

/// e^x for x <= 0 within 1.5 units in the last place; below ln(2^-126), -inf included, exactly 0; NaN stays. The CPU's
/// exponential (runtime/cpu/exp-inl.hpp derives its numbers): the GPU's own is four times further off, and a router's
/// weights are fp32.
inline float exp_nonpositive(float x) {
  // Rounds to an integer held in the lowest bits, the exponent's bias added.
  constexpr float kMagic = 0x1.8p23f + 127.0f;
  const float shifted = arch::multiply_add(x, 0x1.715476p0f, kMagic);
  const float n = shifted - kMagic;
  float r = arch::multiply_add(n, -0x1.62ep-1f, x);
  r = arch::multiply_add(n, -0x1.0bfbe8p-15f, r);
  float q = arch::multiply_add(0x1.6a23cep-10f, r, 0x1.123a20p-7f);
  q = arch::multiply_add(q, r, 0x1.5558f2p-5f);
  q = arch::multiply_add(q, r, 0x1.555492p-3f);
  q = arch::multiply_add(q, r, 0x1.fffffcp-2f);
  const float mantissa = arch::multiply_add(q * r, r, r) + 1.0f;
  const float power = __builtin_bit_cast(float, __builtin_bit_cast(uint32, shifted) << 23);
  return x < -0x1.5d589ep6f ? 0.0f : mantissa * power;
}

}  // namespace flashfit
