#pragma once
// The clocks that a GPU counts by, for kernels that measure it. No part of the arch contract: the emulator has no time.
#include "core/base/types.hpp"

namespace flashfit::arch {

/// Cycles of this SM.
inline uint64 cycles() {
  uint64 x;
  asm volatile("mov.u64 %0, %%clock64;" : "=l"(x)::"memory");
  return x;
}

/// Nanoseconds, the same on all SMs; it advances in steps of up to a microsecond (PTX ISA, "%globaltimer").
inline uint64 nanoseconds() {
  uint64 x;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(x)::"memory");
  return x;
}

}  // namespace flashfit::arch
