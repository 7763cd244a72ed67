#pragma once
// The time of a forward configuration on a GPU, by counting what each unit of an
// SM must do. docs/plan.md derives and checks it.
#include "core/gpu/occupancy.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Queries of a sequence for which the model was fitted to keys in parts; more of them fill tiles.
inline constexpr int kFewQueries = 128;

/// `spill_bytes` a thread; occupancy.blocks >= 1; `splits`: parts that each sequence's keys are cut in.
ForwardModel forward_model(const ForwardConfig& config, const Occupancy& occupancy, int spill_bytes,
                           const ForwardProblem& problem, const Gpu& gpu, int splits = 1);

/// Whether the model was held to measurements on a GPU of this compute capability: it is fitted to an H200
/// (mma.sync) and an H100 (wgmma). On others it counts the same units by the GPU table, and nobody has compared.
inline bool is_calibrated(const Gpu& gpu) { return gpu.cc == ComputeCapability{9, 0}; }

}  // namespace flashfit
