#pragma once
// Additions to global memory that are one step each: clusters run on several host threads, which add to the same bytes.
#include <atomic>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#include "core/base/half.hpp"

namespace flashfit::emu {

/// Adds the numbers of `from` to those at `to`, each rounded to nearest even. T: f16, bf16, float. `to` is aligned to
/// T.
template <class T>
void atomic_add(std::byte* to, const std::byte* from, std::size_t bytes) {
  using Bits = std::conditional_t<sizeof(T) == 2, std::uint16_t, std::uint32_t>;
  const auto number = [](Bits bits) { return to_float(std::bit_cast<T>(bits)); };
  for (std::size_t i = 0; i < bytes; i += sizeof(T)) {
    Bits addend;
    std::memcpy(&addend, from + i, sizeof addend);
    const std::atomic_ref<Bits> sum(*reinterpret_cast<Bits*>(to + i));
    Bits before = sum.load(std::memory_order_relaxed), after;
    // fp32 has twice the bits of both 16-bit types and two more, so that a sum rounded twice is the sum rounded once.
    do after = std::bit_cast<Bits>(from_float<T>(number(before) + number(addend)));
    while (!sum.compare_exchange_weak(before, after, std::memory_order_relaxed));
  }
}

}  // namespace flashfit::emu
