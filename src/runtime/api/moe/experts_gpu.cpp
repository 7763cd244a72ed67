#include "runtime/api/moe/experts_gpu.hpp"

#include "core/gpu/device.hpp"
#include "core/gpu/driver_versions.hpp"
#include "kernels/moe/experts/plan.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/live_gpus.hpp"
#include "runtime/api/moe/route.hpp"
#include "runtime/api/plan_memo.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/images/carried.hpp"
#include "runtime/images/loader.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::api {
namespace {

/// What of a call no kernel for GPUs does, or nullptr.
const char* lacking_on_gpus(const CheckedExperts& c) {
  if (c.has_shared) return "shared_w13: add the shared expert's result";
  return nullptr;
}

using Memo = PlanMemo<ExpertsProblem, ExpertsPlan>;
thread_local constinit Memo memo{};

Result<const ExpertsPlan*> plan_on_gpu(const CheckedExperts& c) {
  const ExpertsProblem& p = c.call.problem;
  if (const char* const lacking = lacking_on_gpus(c))
    return fail(Code::kMisfit, fmt::format("{}: on a GPU there is no kernel for it yet; the CPU computes it", lacking));
  if (p.hidden % 8 == 0 && p.intermediate % 8 == 0)
    if (auto wrong = misalignment_of(c.call)) return fail(Code::kInvalidArgument, std::move(*wrong));
  const auto gpu = remembered_gpu("x", c.device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const Memo::Key key{*gpu, *driver, c.options.ptx_only, p};
  if (c.options.variant.empty())
    if (const ExpertsPlan* const known = memo.find(key)) return known;
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  const auto plan = plan_experts(p, **gpu, *driver, carried_images(), c.options);
  if (!plan) return tl::unexpected(plan.error());
  if (logging())
    log_once(fmt::format("moe.layer {}, {} tokens: cuda:{} {} ({}), driver for CUDA {}: {} of target {}",
                         flashfit::describe(p), p.tokens, c.device, (*gpu)->name, (*gpu)->cc.str(), str(*driver),
                         plan->product->variant->name, plan->product->target.str()));
  return memo.keep(c.options.variant.empty() ? key : Memo::Key{}, *plan);
}

/// The router's plan, which the variant of the experts does not concern; nullptr where ids are given.
Result<const RoutePlan*> route_plan(const CheckedExperts& c) {
  if (c.finding != Finding::kLogits) return nullptr;
  return plan_route_on_gpu(c.route.problem, c.device, {.variant = {}, .ptx_only = c.options.ptx_only});
}

std::uint64_t aligned(std::uint64_t bytes) { return (bytes + 255) / 256 * 256; }

/// Where ids and weights lie that a router makes: behind the experts' own workspace.
struct Routed {
  std::uint64_t ids, weights, bytes;

  explicit Routed(const CheckedExperts& c) {
    const auto each = aligned(static_cast<std::uint64_t>(c.call.problem.rows()) * 4);
    ids = aligned(static_cast<std::uint64_t>(workspace_bytes(c.call.problem)));
    weights = ids + (c.finding == Finding::kLogits ? each : 0);
    bytes = weights + (c.finding == Finding::kLogits ? each : 0);
  }
};

}  // namespace

Result<std::uint64_t> gpu_workspace(const CheckedExperts& c) {
  if (c.call.problem.tokens == 0) return std::uint64_t{0};
  if (const auto plan = plan_on_gpu(c); !plan) return tl::unexpected(plan.error());
  if (const auto route = route_plan(c); !route) return tl::unexpected(route.error());
  return Routed(c).bytes;
}

Result<void> run_on_gpu(const CheckedExperts& c, const Allocator& allocator) {
  if (c.call.problem.tokens == 0) return {};
  const auto plan = plan_on_gpu(c);
  if (!plan) return tl::unexpected(plan.error());
  const auto route = route_plan(c);
  if (!route) return tl::unexpected(route.error());
  const Routed at(c);
  const std::vector<const Argument*> tensors = c.tensors.given();
  const auto workspace = find_workspace(c.workspace, c.workspace_bytes, at.bytes, allocator, tensors);
  if (!workspace) return tl::unexpected(workspace.error());
  auto* const memory = static_cast<std::byte*>(*workspace);
  ExpertsCall call = c.call;
  call.workspace = memory;
  RouteCall routing = c.route;
  if (*route != nullptr) {
    call.topk_ids = routing.ids = reinterpret_cast<std::int32_t*>(memory + at.ids);
    call.topk_weights = routing.weights = reinterpret_cast<float*>(memory + at.weights);
  }
  ExpertsArguments arguments;  // before anything is launched: they may be refused
  if (auto ok = arguments.set(**plan, call, encode_tensor_map); !ok) return ok;
  if (*route == nullptr) return launch((*plan)->steps.all(), arguments.all(), c.device, c.stream);
  const RouteParams params = route_params(routing);
  std::vector<const void*> all{&params};
  all.insert(all.end(), arguments.all().begin(), arguments.all().end());
  Steps steps = (*route)->steps;
  steps.add((*plan)->steps);
  return launch(steps.all(), all, c.device, c.stream);
}

Result<void> prepare_on_gpu(const CheckedExperts& c) {
  if (c.call.problem.tokens == 0) return {};
  const auto plan = plan_on_gpu(c);
  if (!plan) return tl::unexpected(plan.error());
  const auto route = route_plan(c);
  if (!route) return tl::unexpected(route.error());
  if (*route != nullptr)
    if (auto ok = flashfit::prepare((*route)->steps.all(), c.device); !ok) return ok;
  return flashfit::prepare((*plan)->steps.all(), c.device);
}

}  // namespace flashfit::api
