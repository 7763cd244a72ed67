#include "kernels/attention/forward/plan/steps.hpp"

#include <algorithm>
#include <cstddef>

#include "kernels/attention/forward/combine/variants.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "kernels/attention/forward/wgmma/softcap_unit.hpp"
#include "kernels/attention/forward/wgmma/work_order.hpp"
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

Steps forward_steps(const Image& image, const Image* combine, const ForwardProblem& p, std::int64_t slots, int splits,
                    std::int64_t resident) {
  Steps steps;
  const ForwardConfig& config = forward_variant_of(*image.variant).config;
  const std::int64_t works = slots * (p.heads_q / packed_heads(config, p));
  if (config.engine == ForwardEngine::kWgmma) {
    const std::int64_t of_part = std::max<std::int64_t>(resident / splits, 1);
    Step step{.image = &image, .grid = {.x = std::min(works, of_part), .y = splits}};
    if (p.variable_length && splits == 1 && works > resident)
      step.cleared = {.words = 1, .address_at = offsetof(WgmmaForwardParams, taken)};
    steps.add(step);
  } else {
    steps.add({.image = &image, .grid = {.x = works, .y = splits}});
  }
  if (splits > 1) steps.add(combine_step(*combine, config, p.total_q * p.heads_q, splits));
  return steps;
}

Result<void> ForwardArguments::set(const ForwardPlan& plan, const ForwardCall& call, void* workspace,
                                   EncodeTensorMap encode) {
  const auto of_launch = [&](const ForwardCall& c) {
    return set(plan.variant->config, c, forward_params(c, plan.slots, key_splits(plan, workspace)), encode,
               shares_counter(plan.steps) ? static_cast<int*>(workspace) : nullptr);
  };
  return plan.by_strides ? of_launch(pack_heads(call)) : of_launch(call);
}

Result<void> ForwardArguments::set(const ForwardConfig& config, const ForwardCall& call, const ForwardParams& params,
                                   EncodeTensorMap encode, int* taken) {
  if (params.splits > 1) combine_ = combine_params(config, params);
  if (config.engine == ForwardEngine::kWgmma) {
    pointers_ = {&wgmma_, &combine_};
    if (params.slots == 0) return {};  // nothing is launched
    const int pack = packed_heads(config, call.problem);
    wgmma_.forward = params;
    wgmma_.scale_log2 = (params.softcap > 0 ? params.softcap * kTanhUnit : params.softmax_scale) * kLog2E;
    wgmma_.softcap_x = params.softcap > 0 ? 2 * params.softmax_scale * kLog2E / params.softcap : 0;
    wgmma_.works = params.slots * (params.heads.by / pack);
    wgmma_.order = work_order(config, call.problem);
    wgmma_.all_heads = params.heads.by / pack * params.batch;
    wgmma_.taken = taken;
    return encode_maps(wgmma_, config, call, encode);
  }
  parts_ = params;
  pointers_ = {&parts_, &combine_};
  return {};
}

}  // namespace flashfit
