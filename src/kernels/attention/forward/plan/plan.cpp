#include "kernels/attention/forward/plan/plan.hpp"

#include <fmt/format.h>

#include "kernels/attention/forward/combine/variants.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/misfit.hpp"
#include "kernels/attention/pack.hpp"

namespace flashfit {

Result<ForwardPlan> plan_forward(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver,
                                 std::span<const Image> images, const PlanOptions& options) {
  const Image* const combine = combine_image(problem.dtype, images, {gpu, driver, options.ptx_only});
  images = images_of(kForwardOperation, images);
  const bool by_strides = packs_heads(problem);
  const ForwardProblem launched = by_strides ? pack_heads(problem) : problem;
  Request request{launched, gpu, driver, images, nullptr, options.ptx_only, combine, 0};
  if (auto error = misfit_of_problem(launched, gpu, driver)) return tl::unexpected(std::move(*error));
  if (!options.variant.empty()) {
    const auto named = variant_named(options.variant, launched, images);
    if (!named) return tl::unexpected(named.error());
    if (named->splits > 1 && combine == nullptr)
      return fail(Code::kMisfit,
                  fmt::format("variant '{}': no image for {} combines parts of keys", options.variant, describe(gpu)));
    request.variant = named->variant;
    request.splits = named->splits;
  }
  BestPlan best;
  for_each_candidate(request, [&](const ForwardPlan& plan) { best.add(plan); });
  if (!best.get()) return tl::unexpected(misfit_of_images(request));
  ForwardPlan plan = *best.get();
  plan.by_strides = by_strides;
  return plan;
}

std::string reason_for(const ForwardPlan& plan, const Gpu& gpu, CudaVersion driver, std::span<const Image> images) {
  const ForwardProblem& problem = plan.problem;
  const Image* const combine = combine_image(problem.dtype, images, {gpu, driver});
  images = images_of(kForwardOperation, images);
  const ForwardConfig& c = plan.variant->config;
  const bool ptx = plan.image().ptx();
  if (plan.grid() == 0) return "no rows: nothing to launch";

  BestPlan others_best;
  int others = 0;
  for_each_candidate({problem, gpu, driver, images, nullptr, false, combine, 0}, [&](const ForwardPlan& other) {
    if (other.variant == plan.variant) return;
    ++others;
    others_best.add(other);
  });
  const std::optional<ForwardPlan>& second = others_best.get();
  std::string next = "; no other variant fits";
  if (second) {
    const ForwardConfig& o = second->variant->config;
    const char* const heads = second->packed_heads() == plan.packed_heads() ? ""
                              : second->packed_heads() == 1                 ? ", each head by itself"
                                                                            : ", heads packed";
    const std::string other = fmt::format("{}x{} with {} warps{}", o.block_m, o.block_n, o.warps, heads);
    const double share = second->model.microseconds / plan.model.microseconds;
    next = others == 1 ? fmt::format("; the one other variant, {}, takes {:.2f} of its time", other, share)
                       : fmt::format("; of {} others {} is next at {:.2f} of its time", others, other, share);
  }
  const std::string code =
      ptx ? fmt::format("PTX {}.{}, compiled by the driver", plan.image().target.cc / 10, plan.image().target.cc % 10)
          : fmt::format("machine code {}", plan.image().target.str());
  const std::string parts =
      plan.splits == 1 ? ""
                       : fmt::format("; keys in {} parts, so that {} blocks become {}; a second launch combines{}",
                                     plan.splits, plan.grid(), plan.grid() * plan.splits,
                                     plan.steps[1].dependent() ? ", which begins early" : "");
  const std::string heads =
      plan.packed_heads() == 1 ? "" : fmt::format(" of the {} heads that share keys", plan.packed_heads());
  return fmt::format("{} runs on {}; {}x{} tile{}: {} block{} per SM by {}, {} wave{} on {} SMs, most time in {}{}{}",
                     code, gpu.cc.str(), c.block_m, c.block_n, heads, plan.model.blocks_per_sm,
                     plan.model.blocks_per_sm == 1 ? "" : "s", plan.model.limited_by, plan.model.waves,
                     plan.model.waves == 1 ? "" : "s", gpu.sms, plan.model.bound, parts, next);
}

}  // namespace flashfit
