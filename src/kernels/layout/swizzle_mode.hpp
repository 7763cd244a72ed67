#pragma once
// How TMA and wgmma permute shared memory (PTX ISA, "Shared Memory Matrix Layout" and "Swizzling modes"; CUTLASS spells
// the same maps Swizzle<B, 4, 3>). One truth for kernels, emulator and the probes of hardware.
#include "core/base/types.hpp"

namespace flashfit {

/// The width in bytes of the rows whose 16-byte chunks change places. kNone: rows of one chunk, which stay.
enum class SwizzleMode : unsigned char { kNone, k32B, k64B, k128B };

/// Bytes of one row of the pattern: 16, 32, 64, 128.
constexpr int row_bytes(SwizzleMode m) { return 16 << int(m); }
/// Bytes after which the pattern repeats: eight rows. An address of the pattern's start is a multiple of it.
constexpr int pattern_bytes(SwizzleMode m) { return 8 * row_bytes(m); }

/// Where the byte lies that has this address in the plain order: the index of the 16-byte chunk is XORed with that of
/// the 128-byte line, as far as the mode's width allows. `phase` moves the pattern by so many lines (a descriptor's
/// base offset). Its own inverse.
constexpr uint32 swizzled(uint32 address, SwizzleMode m, int phase = 0) {
  const uint32 chunks = row_bytes(m) / 16 - 1;
  return address ^ (((address >> 7) - uint32(phase)) & chunks) << 4;
}

constexpr const char* name_of(SwizzleMode m) {
  return m == SwizzleMode::kNone   ? "no swizzle"
         : m == SwizzleMode::k32B  ? "32-byte swizzle"
         : m == SwizzleMode::k64B  ? "64-byte swizzle"
         : m == SwizzleMode::k128B ? "128-byte swizzle"
                                   : "unknown swizzle";
}

}  // namespace flashfit
