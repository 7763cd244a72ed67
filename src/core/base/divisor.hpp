#pragma once
// Division by a number that is known before a launch: a product and a shift, where a GPU would take a hundred cycles.
// Neutral: kernels include this.
#include "core/base/types.hpp"

namespace flashfit {

/// n / by = n * multiplier >> shift with shift = 31 + l, l = ceil(log2 by) and multiplier = ceil(2^shift / by) < 2^32,
/// exact for n < 2^31 (Granlund and Montgomery 1994, "Division by Invariant Integers using Multiplication",
/// theorem 4.2).
struct Divisor {
  int by;
  int shift;
  uint32 multiplier;

  constexpr Divisor() : Divisor(1) {}
  /// d > 0
  constexpr explicit Divisor(int d) : by(d), shift(31), multiplier(1U << 31) {
    while (uint64{1} << (shift - 31) < static_cast<uint64>(d)) ++shift;
    multiplier = static_cast<uint32>(((uint64{1} << shift) + static_cast<uint64>(d) - 1) / static_cast<uint64>(d));
  }
  /// n / by, rounded down, for n of 0 .. 2^31 - 1.
  constexpr int quotient(int n) const { return static_cast<int>(uint64{static_cast<uint32>(n)} * multiplier >> shift); }
};

}  // namespace flashfit
