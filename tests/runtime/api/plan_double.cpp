// In place of src/kernels/attention/forward/plan/plan.cpp: every problem needs a workspace of 1000 bytes.
#include "kernels/attention/forward/plan/plan.hpp"

namespace flashfit {

Result<ForwardPlan> plan_forward(const ForwardProblem&, const Gpu&, CudaVersion, std::span<const Image> images,
                                 const PlanOptions&) {
  ForwardPlan plan{.variant = &forward_variant_of(*images.front().variant),
                   .steps = {},
                   .slots = 1,
                   .splits = 1,
                   .split_tiles = 0,
                   .workspace_bytes = 1000};
  plan.steps.add({.image = images.data(), .grid = {.x = 4}});
  return plan;
}

std::string reason_for(const ForwardPlan&, const Gpu&, CudaVersion, std::span<const Image>) { return ""; }

}  // namespace flashfit
