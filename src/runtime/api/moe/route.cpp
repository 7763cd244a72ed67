#include "runtime/api/moe/route.hpp"

#include <array>
#include <optional>
#include <string_view>

#include "core/gpu/device.hpp"
#include "core/gpu/driver_versions.hpp"
#include "kernels/moe/route/plan.hpp"
#include "runtime/api/argument.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/live_gpus.hpp"
#include "runtime/api/moe/router.hpp"
#include "runtime/api/plan_memo.hpp"
#include "runtime/api/question.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/api/versioned.hpp"
#include "runtime/cpu/route.hpp"
#include "runtime/images/carried.hpp"
#include "runtime/images/loader.hpp"

namespace flashfit::api {
namespace {

constexpr std::uint32_t kKnownFlags = FLASHFIT_PTX_ONLY | kRouterFlags;
/// The structs' sizes in their first version: no caller has smaller ones.
constexpr std::size_t kFirstRouteSize = 48, kFirstRouteExplainSize = 64;

struct CheckedRoute {
  RouteCall call;
  bool on_gpu = false;
  int device = 0;  ///< CUDA device index; 0 on the CPU
  flashfit_stream stream = nullptr;
  PlanOptions options;
};

Result<void> check_flags(std::uint32_t flags) {
  if (const std::uint32_t unknown = flags & ~kKnownFlags)
    return refuse(
        "flags: {:#x} is unknown; accepted: FLASHFIT_PTX_ONLY ({:#x}), FLASHFIT_TOPK_FIRST ({:#x}), "
        "FLASHFIT_RENORMALIZE ({:#x}), FLASHFIT_SIGMOID ({:#x}), FLASHFIT_SQRT_SOFTPLUS ({:#x})",
        unknown, FLASHFIT_PTX_ONLY, FLASHFIT_TOPK_FIRST, FLASHFIT_RENORMALIZE, FLASHFIT_SIGMOID,
        FLASHFIT_SQRT_SOFTPLUS);
  return {};
}

struct RouteTensors {
  Argument logits, weights, ids, bias;
};

Result<DType> check_dtypes(const RouteTensors& t) {
  if (!is_dtype(t.weights.dtype, kDLFloat, 32))
    return refuse("weights: dtype is {}; accepted: fp32", text(t.weights.dtype));
  if (!is_dtype(t.ids.dtype, kDLInt, 32)) return refuse("ids: dtype is {}; accepted: int32", text(t.ids.dtype));
  return check_logits(t.logits);
}

Result<void> check_shapes(const RouteTensors& t) {
  const std::int64_t tokens = t.logits.size[0], experts = t.logits.size[1], top_k = t.weights.size[1];
  if (t.weights.size[0] != tokens)
    return refuse("weights: shape is {}; accepted: ({}, top_k), a row for each token", text(t.weights.shape()), tokens);
  const std::int64_t most = experts < kMaxTopK ? experts : kMaxTopK;
  if (top_k < 1 || top_k > most)
    return refuse("weights: shape is {}; accepted: top_k from 1 to {}", text(t.weights.shape()), most);
  if (t.ids.size[0] != tokens || t.ids.size[1] != top_k)
    return refuse("ids: shape is {}; accepted: ({}, {}), as weights", text(t.ids.shape()), tokens, top_k);
  return {};
}

Result<void> check_memory(const RouteTensors& t) {
  for (const Argument* a : {&t.weights, &t.ids})
    if (!is_contiguous(*a)) return refuse("{}: strides are {}; accepted: contiguous", a->name, text(a->strides()));
  const std::pair<const Argument*, const Argument*> apart[] = {
      {&t.weights, &t.logits}, {&t.ids, &t.logits}, {&t.ids, &t.weights}, {&t.weights, &t.bias}, {&t.ids, &t.bias}};
  for (const auto& [written, other] : apart)
    if (overlap(*written, *other)) return refuse_overlap(*written, *other);
  return {};
}

/// Every rule of flashfit.h.
Result<CheckedRoute> check(const flashfit_moe_route_args* caller_args) {
  const auto args = read_versioned(caller_args, kFirstRouteSize);
  if (!args) return tl::unexpected(args.error());
  Result<void> ok = check_flags(args->flags);
  if (ok) ok = check_reserved("reserved", args->reserved);
  RouteTensors t;
  if (ok) ok = read_argument("logits", args->logits, 2, "[tokens, experts]", t.logits);
  if (ok) ok = read_argument("weights", args->weights, 2, "[tokens, top_k]", t.weights);
  if (ok) ok = read_argument("ids", args->ids, 2, "[tokens, top_k]", t.ids);
  if (ok && args->router_bias) ok = read_argument("router_bias", args->router_bias, 1, "[experts]", t.bias);
  if (!args->router_bias) t.bias.device = t.logits.device;
  for (const Argument* a : {&t.weights, &t.ids, &t.bias})
    if (ok &&
        (a->device.device_type != t.logits.device.device_type || a->device.device_id != t.logits.device.device_id))
      ok = refuse("{}: device is {}; accepted: {}, where logits is", a->name, text(a->device), text(t.logits.device));
  if (!ok) return tl::unexpected(std::move(ok.error()));
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  ok = check_shapes(t);
  if (ok) ok = check_memory(t);
  if (ok && args->variant && !t.logits.on_gpu())
    ok = refuse("variant: \"{}\" with tensors on the CPU; accepted there: NULL", args->variant);
  if (!ok) return tl::unexpected(std::move(ok.error()));

  CheckedRoute checked;
  RouteProblem& p = checked.call.problem;
  p.dtype = *dtype;
  p.tokens = t.logits.size[0];
  p.experts = static_cast<int>(t.logits.size[1]);
  p.top_k = static_cast<int>(t.weights.size[1]);
  ok = set_router(p, {args->flags, args->router_bias != nullptr, args->groups, args->groups_kept, args->scale});
  if (ok && p.biased) ok = check_router_bias(t.bias, p.experts);
  if (!ok) return tl::unexpected(std::move(ok.error()));
  checked.call.bias = static_cast<const float*>(t.bias.data);
  checked.call.logits = t.logits.data;
  checked.call.logits_row = t.logits.stride[0];
  checked.call.weights = static_cast<float*>(t.weights.data);
  checked.call.ids = static_cast<std::int32_t*>(t.ids.data);
  checked.on_gpu = t.logits.on_gpu();
  checked.device = checked.on_gpu ? t.logits.device.device_id : 0;
  checked.stream = args->stream;
  checked.options = {args->variant ? args->variant : "", (args->flags & FLASHFIT_PTX_ONLY) != 0};
  return checked;
}

using Memo = PlanMemo<RouteProblem, RoutePlan>;
thread_local constinit Memo memo{};

/// What runs on a GPU for this call; nullptr if nothing does.
Result<const RoutePlan*> gpu_work(const CheckedRoute& checked) {
  if (auto ok = check_enabled("moe.route", checked.on_gpu); !ok) return tl::unexpected(std::move(ok.error()));
  if (checked.on_gpu && checked.call.problem.tokens > 0)
    return plan_route_on_gpu(checked.call.problem, checked.device, checked.options);
  return nullptr;
}

Result<void> run(const CheckedRoute& checked) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  if (*plan) {
    const RouteParams params = route_params(checked.call);
    const void* const arguments[] = {&params};
    return launch((*plan)->steps.all(), arguments, checked.device, checked.stream);
  }
  const RouteProblem& p = checked.call.problem;
  if (p.tokens == 0) return {};
  if (logging())
    log_once(fmt::format("moe.route {}, {} tokens: cpu, {}", describe(p), p.tokens, cpu::kernels().front().name));
  cpu::route(checked.call);
  return {};
}

Result<void> prepare(const CheckedRoute& checked) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  return *plan ? flashfit::prepare((*plan)->steps.all(), checked.device) : Result<void>{};
}

/// Checks the arguments and hands the call to `step`.
Result<void> checked_then(const flashfit_moe_route_args* args, Result<void> (*step)(const CheckedRoute&)) {
  const auto checked = check(args);
  const Result<void> done = checked ? step(*checked) : Result<void>(tl::unexpected(checked.error()));
  if (!done && logging())
    log_once(fmt::format("moe.route{}: refused: {}", checked ? " " + describe(checked->call.problem) : "",
                         done.error().message));
  return done;
}

}  // namespace

Result<const RoutePlan*> plan_route_on_gpu(const RouteProblem& problem, int device, const PlanOptions& options) {
  const auto gpu = remembered_gpu("logits", device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const Memo::Key key{*gpu, *driver, options.ptx_only, problem};
  if (options.variant.empty())
    if (const RoutePlan* const known = memo.find(key)) return known;
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  const auto plan = plan_route(problem, **gpu, *driver, carried_images(), options);
  if (!plan) return tl::unexpected(plan.error());
  if (logging())
    log_once(
        fmt::format("moe.route {}, {} tokens: cuda:{} {} ({}), driver for CUDA {}: {} of target {}, grid {} x {} "
                    "threads",
                    describe(problem), problem.tokens, device, (*gpu)->name, (*gpu)->cc.str(), str(*driver),
                    plan->kernel_variant().name, plan->image().target.str(), plan->steps[0].grid.x,
                    plan->kernel_variant().threads));
  return memo.keep(options.variant.empty() ? key : Memo::Key{}, *plan);
}

Result<void> route(const flashfit_moe_route_args* args) { return checked_then(args, run); }

Result<void> prepare_route(const flashfit_moe_route_args* args) { return checked_then(args, prepare); }

Result<std::string> route_json(const flashfit_moe_route_explain_args* caller_args) {
  const auto args = read_versioned(caller_args, kFirstRouteExplainSize);
  if (!args) return tl::unexpected(args.error());
  Result<void> ok = check_reserved("reserved", args->reserved);
  if (ok) ok = check_flags(args->flags);
  const auto dtype = parse_dtype(args->dtype);
  if (ok && !dtype) ok = tl::unexpected(dtype.error());
  if (ok)
    ok = check_numbers({{"tokens", args->tokens, 0, kMaxSize},
                        {"experts", args->experts, 1, kMaxExperts},
                        {"top_k", args->top_k, 1, args->experts < kMaxTopK ? args->experts : kMaxTopK}});
  if (ok && args->cuda_version < 0) ok = refuse("cuda_version: {}; accepted: 12090 for 12.9, or 0", args->cuda_version);
  if (!ok) return tl::unexpected(std::move(ok.error()));
  CudaVersion driver = args->cuda_version;
  const auto gpus = gpus_of(args->gpu, driver);
  if (!gpus) return tl::unexpected(gpus.error());
  RouteProblem problem{.dtype = *dtype,
                       .tokens = args->tokens,
                       .experts = static_cast<int>(args->experts),
                       .top_k = static_cast<int>(args->top_k)};
  ok = set_router(problem, {.flags = args->flags, .biased = false, .groups = 0, .groups_kept = 0, .scale = 0});
  if (!ok) return tl::unexpected(std::move(ok.error()));
  const PlanOptions options{args->variant ? args->variant : "", (args->flags & FLASHFIT_PTX_ONLY) != 0};
  JsonText json;
  json.begin_array();
  for (const Gpu& gpu : *gpus) {
    // A name that no GPU could take is a wrong argument, not a misfit.
    const auto plan = plan_route(problem, gpu, driver, carried_images(), options);
    if (!plan && plan.error().code == Code::kInvalidArgument) return tl::unexpected(plan.error());
    write_explanation(json, plan, problem, gpu);
  }
  json.end_array();
  return json.take();
}

}  // namespace flashfit::api
