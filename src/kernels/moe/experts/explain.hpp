#pragma once
// What the experts' plan chose for a GPU and why, for people and programs.
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/json_text.hpp"
#include "kernels/moe/experts/plan.hpp"

namespace flashfit {

/// A launch of a plan and what it is for: "count", "place", "first product", "second product", "sum"; "second product,
/// sums" where it adds up some of them.
struct ExpertsLaunch {
  const char* step;
  const Step& launch;
};
/// In the order in which they are queued; they point into the plan, which is `problem`'s.
std::vector<ExpertsLaunch> launches_of(const ExpertsPlan& plan, const ExpertsProblem& problem);

/// Which part of the modelled time is the longest: "multiplying", "reading DRAM" or "reading L2"; nullptr of no time.
const char* binds(const ExpertsTime& time);

/// A thread's; nothing of PTX, whose registers the driver allocates.
std::optional<int> registers_of(const Image& image);

/// One object. Of the two products, which one image computes: gpu, compute_capability, fits, operation, family,
/// variant, target, registers_per_thread (null of PTX), shared_memory_bytes, threads, tile_rows, tile_columns, depth,
/// stages. Then workspace_bytes; modelled_us, its parts multiplying_us, reading_dram_us and reading_l2_us, bound_by
/// (null without tokens); launches, a list of objects: step, variant, target, registers_per_thread,
/// shared_memory_bytes, threads, grid; reason. A misfit has the same keys: null where unknown, and its reason. `plan`
/// is plan_experts()'s for that problem and GPU.
void write_explanation(JsonText& json, const Result<ExpertsPlan>& plan, const ExpertsProblem& problem, const Gpu& gpu);

}  // namespace flashfit
