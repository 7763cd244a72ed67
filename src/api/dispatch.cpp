#include "api/dispatch.hpp"

#include "api/decision_log.hpp"
#include "api/environment.hpp"
#include "api/gpu_plan.hpp"
#include "api/memory_rules.hpp"
#include "api/refuse.hpp"
#include "attention/params.hpp"
#include "cpu/attention.hpp"
#include "images/loader.hpp"

namespace flashfit::api {
namespace {

Result<void> check_enabled(const CheckedForward& checked) {
  using enum Environment::Disable;
  const Environment& e = environment();
  if (e.disable == kNothing || (e.disable == kGpu && !checked.on_gpu)) return {};
  if (e.disable == kUnknown) return refuse("FLASHFIT_DISABLE: \"{}\"; accepted: 1, gpu, 0 or nothing", e.disable_value);
  return fail(Code::kDisabled, fmt::format("attention: FLASHFIT_DISABLE={} is set; accepted: {}", e.disable_value,
                                           e.disable == kGpu ? "tensors on the CPU" : "no call"));
}

/// Whether anything is to be written; no keys is another matter: zeros are.
bool has_rows(const ForwardProblem& p) { return p.total_q != 0 && p.heads_q != 0; }

/// What runs on a GPU for this call; nullptr if nothing does.
Result<const ForwardPlan*> gpu_work(const CheckedForward& checked) {
  if (auto ok = check_enabled(checked); !ok) return tl::unexpected(std::move(ok.error()));
  if (checked.on_gpu && has_rows(checked.call.problem)) return plan_on_gpu(checked);
  return nullptr;
}

}  // namespace

Result<void> dispatch_forward(const CheckedForward& checked) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  if (!*plan) {
    if (!has_rows(checked.call.problem)) return {};
    if (logging()) log_cpu(checked);
    return cpu::attention_forward(checked.call);
  }
  const ForwardPlan& work = **plan;
  if (work.workspace_bytes) {
    auto ok = check_workspace(checked.workspace, checked.workspace_bytes, work.workspace_bytes, checked.tensors);
    if (!ok) return ok;
  }
  const ForwardParams params = forward_params(checked.call, work.slots);
  return launch(*work.image, checked.device, checked.stream, {work.grid, work.threads, work.shared_bytes}, &params);
}

Result<std::uint64_t> dispatch_workspace(const CheckedForward& checked) {
  return gpu_work(checked).map([](const ForwardPlan* plan) { return plan ? plan->workspace_bytes : 0; });
}

Result<void> dispatch_prepare(const CheckedForward& checked) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  return *plan ? prepare(*(*plan)->image, checked.device) : Result<void>{};
}

}  // namespace flashfit::api
