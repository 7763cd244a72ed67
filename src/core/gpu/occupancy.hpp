#pragma once
// How many blocks of a kernel an SM holds at once, and which of its resources stops one more.
#include "core/gpu/gpu.hpp"

namespace flashfit {

/// What a block takes of an SM.
struct Footprint {
  int threads, registers, shared_bytes;  ///< a block, a thread, a block
};

struct Occupancy {
  int blocks;              ///< 0: not even one fits
  const char* limited_by;  ///< "shared memory", "registers", "threads", "blocks"
};

Occupancy occupancy(const Footprint& footprint, const Gpu& gpu);

}  // namespace flashfit
