#pragma once
// The router's plan: a pure function of the problem, the GPU, the driver and the images carried.
#include <optional>
#include <span>
#include <string>

#include "core/base/error.hpp"
#include "core/base/json_text.hpp"
#include "core/launch/choice.hpp"
#include "core/launch/step.hpp"
#include "kernels/moe/route/problem.hpp"
#include "kernels/moe/route/variants.hpp"

namespace flashfit {

struct RoutePlan {
  const RouteVariant* variant;
  Steps steps;  ///< one launch, a warp a token; a grid of 0 without tokens

  const Image& image() const { return *steps[0].image; }
  const KernelVariant& kernel_variant() const { return *image().variant; }
};

/// The variant of the fewest experts that are enough. Code::kMisfit names the GPU and what binds: no image for it, a
/// driver too old, more experts than any carried variant has, lacking_on_gpus(). Code::kInvalidArgument:
/// options.variant names no variant, or one of another dtype or of too few experts. The plan points into `images`.
Result<RoutePlan> plan_route(const RouteProblem& problem, const Gpu& gpu, CudaVersion driver,
                             std::span<const Image> images, const PlanOptions& options = {});

/// One sentence: why this plan, or why none.
std::string reason_for(const Result<RoutePlan>& plan, const RouteProblem& problem, const Gpu& gpu);
/// A thread's; nothing of PTX, whose registers the driver allocates.
std::optional<int> registers_of(const RoutePlan& plan);

/// The launch of `image` for a problem: RoutePlan::steps.
Steps route_steps(const Image& image, const RouteProblem& problem);
/// Its argument.
RouteParams route_params(const RouteCall& call);

/// What of the problem no kernel for GPUs computes, or nullptr.
const char* lacking_on_gpus(const RouteProblem& problem);

/// "fp16 routing to 8 of 128 experts".
std::string describe(const RouteProblem& problem);

/// One object: gpu, compute_capability, fits, operation, family, variant, target, registers_per_thread (null of PTX),
/// shared_memory_bytes, threads, grid, workspace_bytes, reason. A misfit has the same keys: null where unknown, and its
/// reason. No time: no second variant competes, so no model ranks them. `plan` is plan_route()'s for that problem and
/// GPU.
void write_explanation(JsonText& json, const Result<RoutePlan>& plan, const RouteProblem& problem, const Gpu& gpu);

}  // namespace flashfit
