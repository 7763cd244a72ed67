#include "kernels/moe/route/plan.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <optional>
#include <vector>

namespace flashfit {
namespace {

const RouteConfig& config_of(const Image& image) { return route_variant_of(*image.variant).config; }

bool serves(const RouteConfig& c, const RouteProblem& p) { return c.dtype == p.dtype && c.experts >= p.experts; }

/// The variant that a name means. Error: those that would suit the problem.
Result<const RouteVariant*> variant_named(std::string_view name, const RouteProblem& p) {
  std::vector<std::string> suitable;
  const RouteVariant* found = nullptr;
  for (const RouteVariant& v : route_variants()) {
    if (name_of(v.config) == name) found = &v;
    if (serves(v.config, p)) suitable.push_back(name_of(v.config));
  }
  if (found != nullptr && serves(found->config, p)) return found;
  return fail(Code::kInvalidArgument,
              fmt::format("variant {} {}; for {}: {}", name,
                          found == nullptr ? "is no variant of the router" : "has another dtype or too few experts",
                          describe(p), fmt::join(suitable, ", ")));
}

}  // namespace

std::string describe(const RouteProblem& p) {
  return fmt::format("{} routing to {} of {} experts", name_of(p.dtype), p.top_k, p.experts);
}

const char* lacking_on_gpus(const RouteProblem& p) { return p.groups > kMaxGroups ? "more than 32 groups" : nullptr; }

Result<RoutePlan> plan_route(const RouteProblem& p, const Gpu& gpu, CudaVersion driver, std::span<const Image> images,
                             const PlanOptions& options) {
  images = images_of(kRouteFamily.operation, images);
  if (auto error = misfit_of_driver(gpu, driver)) return tl::unexpected(std::move(*error));
  if (const char* const lacking = lacking_on_gpus(p))
    return tl::unexpected(
        misfit(fmt::format("{}: no kernel for GPUs computes {} yet; the CPU does", describe(p), lacking)));
  const RouteVariant* forced = nullptr;
  if (!options.variant.empty()) {
    const auto named = variant_named(options.variant, p);
    if (!named) return tl::unexpected(named.error());
    forced = *named;
  }
  const auto of_problem = [&](const Image& image) {
    return serves(config_of(image), p) && (forced == nullptr || config_of(image) == forced->config);
  };
  if (std::ranges::none_of(images, of_problem))
    return tl::unexpected(misfit(fmt::format("{}: this build of flashfit carries no image for it ({} of the router)",
                                             describe(p), images.size())));
  const GpuWithDriver on{gpu, driver, options.ptx_only};
  if (auto error = misfit_of_loading(describe(p), images, on, of_problem)) return tl::unexpected(std::move(*error));
  const Image* best = nullptr;
  for_each_best_image(images, on, of_problem, [&](const Image& image) {
    if (best == nullptr || config_of(image).experts < config_of(*best).experts) best = &image;
  });
  return RoutePlan{.variant = &route_variant_of(*best->variant), .steps = route_steps(*best, p)};
}

Steps route_steps(const Image& image, const RouteProblem& p) {
  const int warps = config_of(image).warps;
  Steps steps;
  steps.add({.image = &image, .grid = {.x = (p.tokens + warps - 1) / warps}});
  return steps;
}

RouteParams route_params(const RouteCall& call) {
  const RouteProblem& p = call.problem;
  return {.logits = call.logits,
          .logits_row = call.logits_row,
          .weights = call.weights,
          .ids = call.ids,
          .tokens = static_cast<int>(p.tokens),
          .experts = p.experts,
          .top_k = p.top_k,
          .share_of_all = p.share_of_all(),
          .scale = p.scale,
          .score = p.router == Router::kSigmoid        ? Score::kSigmoid
                   : p.router == Router::kSqrtSoftplus ? Score::kSqrtSoftplus
                                                       : Score::kNone,
          .bias = call.bias,
          .groups = p.groups,
          .group_experts = p.experts / p.groups,
          .groups_kept = p.groups_kept,
          .renormalize = p.renormalize};
}

std::string reason_for(const Result<RoutePlan>& plan, const RouteProblem& problem, const Gpu& gpu) {
  if (!plan) return plan.error().message;
  return fmt::format("{} runs on {}; a warp a token, {} logits a lane; the smallest variant that has room for {}",
                     plan->image().ptx() ? "PTX, compiled by the driver," : "machine code", gpu.cc.str(),
                     plan->variant->config.experts / 32, problem.experts);
}

std::optional<int> registers_of(const RoutePlan& plan) {
  return plan.image().ptx() ? std::nullopt : std::optional(plan.image().registers);
}

void write_explanation(JsonText& json, const Result<RoutePlan>& plan, const RouteProblem& problem, const Gpu& gpu) {
  const auto of_plan = [&](const char* key, auto value) {
    plan ? json.field(key, value(*plan)) : json.field(key, nullptr);
  };
  json.begin_object();
  json.field("gpu", gpu.name);
  json.field("compute_capability", gpu.cc.str());
  json.field("fits", plan.has_value());
  json.field("operation", kRouteFamily.operation);
  json.field("family", kRouteFamily.name);
  of_plan("variant", [](const RoutePlan& p) { return p.kernel_variant().name; });
  of_plan("target", [](const RoutePlan& p) { return p.image().target.str(); });
  of_plan("registers_per_thread", registers_of);
  of_plan("shared_memory_bytes", [](const RoutePlan& p) { return p.kernel_variant().shared_bytes; });
  of_plan("threads", [](const RoutePlan& p) { return p.kernel_variant().threads; });
  of_plan("grid", [](const RoutePlan& p) { return p.steps[0].grid.x; });
  of_plan("workspace_bytes", [](const RoutePlan&) { return 0; });
  json.field("reason", reason_for(plan, problem, gpu));
  json.end_object();
}

}  // namespace flashfit
