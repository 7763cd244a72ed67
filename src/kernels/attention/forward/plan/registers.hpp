#pragma once
// Registers of rows that no compiler has seen.
#include "kernels/attention/forward/config.hpp"

namespace flashfit {

/// Registers a thread of the forward kernel: accumulators of O and S, and what fragments, addresses and softmax state
/// were measured to take. `wanted` may exceed `registers`, the limit of a thread and of what __launch_bounds__
/// promises: the difference spills.
struct RegisterEstimate {
  int registers, wanted;
};
RegisterEstimate estimate_registers(const ForwardConfig& config);

}  // namespace flashfit
