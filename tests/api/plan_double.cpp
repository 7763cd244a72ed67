// In place of src/plan/forward.cpp: every problem needs a workspace of 1000 bytes.
#include "plan/forward.hpp"

namespace flashfit {

Result<ForwardPlan> plan_forward(const ForwardProblem&, const Gpu&, CudaVersion, std::span<const Image> images,
                                 const PlanOptions&) {
  return ForwardPlan{.variant = images.front().variant,
                     .image = images.data(),
                     .slots = 1,
                     .grid = 4,
                     .splits = 1,
                     .split_tiles = 0,
                     .threads = 128,
                     .shared_bytes = 0,
                     .workspace_bytes = 1000};
}

KeySplits key_splits(const ForwardPlan&, const ForwardProblem&, void*) { return {}; }
std::int64_t combine_grid(const ForwardPlan&, const ForwardProblem&) { return 0; }
std::string reason_for(const ForwardPlan&, const ForwardProblem&, const Gpu&, CudaVersion, std::span<const Image>) {
  return "";
}

}  // namespace flashfit
