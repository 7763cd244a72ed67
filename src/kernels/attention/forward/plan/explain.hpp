#pragma once
// Plans and what-ifs explained: what the C API's structs, its JSON and the command's tables say. docs/plan.md lists the
// JSON's keys.
#include <optional>
#include <string>

#include "core/base/json_text.hpp"
#include "kernels/attention/forward/plan/plan.hpp"

namespace flashfit {

/// A plan, or a what-if of one configuration, on one GPU; nothing where unknown.
struct Explanation {
  Gpu gpu;
  bool fits = false, what_if = false;
  std::optional<ForwardConfig> config;         ///< none where no variant was found
  std::optional<std::string> variant, target;  ///< variant: of a what-if only if it is a variant of the table
  std::optional<int> shared_memory_bytes, registers_per_thread, spill_bytes, threads, packed_heads, splits, split_tiles;
  std::optional<bool> registers_estimated;
  std::optional<std::int64_t> grid, workspace_bytes;
  std::optional<ForwardModel> model;  ///< only if it fits
  std::string reason;                 ///< why this variant, or what binds; one line

  std::optional<int> blocks_per_sm() const;
  std::optional<const char*> bound() const;
  std::optional<double> modelled_us() const;  ///< to a tenth
  std::optional<bool> calibrated() const;     ///< false: the model was fitted to another capability
};

Explanation explanation(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                        std::span<const Image> images, const PlanOptions& options = {});
Explanation explanation(const Fit& fit, const Gpu& gpu);

/// One object: gpu, compute_capability, fits, family, variant, kind ("plain", "general" or "alibi"), target,
/// shared_memory_bytes, shared_memory_limit_bytes (opt-in limit of a block), registers_per_thread, registers_estimated,
/// blocks_per_sm, grid, packed_heads (query heads that share a tile), splits, split_tiles, workspace_bytes, threads,
/// bound, modelled_us, calibrated, reason; of a what-if also block_m, block_n, stages, warps,
/// shared_memory_static_limit_bytes, spill_bytes. A misfit has the same keys: null where unknown, and its reason.
void write_explanation(JsonText& json, const Explanation& e);

}  // namespace flashfit
