#pragma once
// How many blocks of a kernel an SM holds at once, and which of its resources stops one more.
#include "kernels/attention/forward/config.hpp"
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

/// Registers a thread of the forward kernel: accumulators of O and S, and what fragments, addresses and softmax state
/// were measured to take. `wanted` may exceed `registers`, the limit of a thread and of what __launch_bounds__
/// promises: the difference spills.
struct RegisterEstimate {
  int registers, wanted;
};
RegisterEstimate estimate_registers(const ForwardConfig& config);

}  // namespace flashfit
