#pragma once
// Plans and what-ifs as data: one JSON object a GPU. docs/plan.md lists the keys.
#include "core/base/json_text.hpp"
#include "kernels/attention/forward/plan/plan.hpp"

namespace flashfit {

/// gpu, compute_capability, fits, family, variant, kind ("plain" or "general"), target, shared_memory_bytes,
/// shared_memory_limit_bytes (opt-in limit of a block), registers_per_thread, registers_estimated, blocks_per_sm, grid,
/// splits, split_tiles, workspace_bytes, threads, bound, modelled_us, calibrated, reason. A misfit has the same keys:
/// null where unknown, and its reason.
void write_explanation(JsonText& json, const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                       std::span<const Image> images, const PlanOptions& options = {});

/// The same keys for a configuration that need not be carried (variant: its name if it is a row of the table, else
/// null), and block_m, block_n, stages, warps, spill_bytes, shared_memory_static_limit_bytes.
void write_explanation(JsonText& json, const Fit& fit, const Gpu& gpu);

}  // namespace flashfit
