#include "kernels/attention/forward/plan/steps.hpp"

#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/pack.hpp"

namespace flashfit {
namespace {

/// Where the parts put their results.
KeySplits key_splits(const ForwardPlan& plan, void* workspace) {
  const ForwardProblem& p = plan.problem;
  if (plan.splits == 1) return {};
  auto* const o = static_cast<float*>(workspace);
  return {plan.splits, plan.split_tiles, o, o + p.total_q * p.heads_q * plan.splits * plan.variant->config.head_dim_v};
}

}  // namespace

Steps forward_steps(const Image& image, const ForwardProblem& p, std::int64_t slots, int splits) {
  Steps steps;
  steps.add({.image = &image, .grid = {.x = slots * p.heads_q, .y = splits}});
  if (splits == 1) return steps;
  const int rows = combined_rows(forward_variant_of(*image.row).config);
  steps.add({.image = &image, .grid = {.x = (p.total_q * p.heads_q + rows - 1) / rows}});
  return steps;
}

ForwardArguments::ForwardArguments(const ForwardPlan& plan, const ForwardCall& call, void* workspace)
    : ForwardArguments(forward_params(plan.packed ? pack_heads(call) : call, plan.slots, key_splits(plan, workspace))) {
}

ForwardArguments::ForwardArguments(const ForwardParams& first) : parts_(first) {
  if (first.splits == 1) return;
  combine_ = first;
  combine_.combine = 1;
}

}  // namespace flashfit
