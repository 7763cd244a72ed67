#pragma once
// Logits as whole numbers in the order in which experts are chosen. Neutral: every backend chooses by it.
#include "core/base/types.hpp"

namespace flashfit {

/// Larger logits give larger numbers, equal ones (-0 and 0 too) the same, NaN the largest. 0 is no logit's.
constexpr uint32 order_of(float logit) {
  if (logit != logit) return 0xffffffffu;
  const uint32 bits = __builtin_bit_cast(uint32, logit + 0.0f);  // -0 becomes 0
  return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/// The logit of that order; NaN of the largest.
constexpr float logit_of(uint32 order) {
  return __builtin_bit_cast(float, order & 0x80000000u ? order & 0x7fffffffu : ~order);
}

}  // namespace flashfit
