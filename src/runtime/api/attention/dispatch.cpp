#include "runtime/api/attention/dispatch.hpp"

#include "kernels/attention/forward/plan/steps.hpp"
#include "runtime/api/attention/decisions.hpp"
#include "runtime/api/attention/gpu_plan.hpp"
#include "runtime/api/attention/memory_rules.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/settings.hpp"
#include "runtime/cpu/attention.hpp"
#include "runtime/images/loader.hpp"
#include "runtime/images/tensor_map.hpp"

namespace flashfit::api {
namespace {

/// Whether anything is to be written; no keys is another matter: zeros are.
bool has_rows(const ForwardProblem& p) { return p.total_q != 0 && p.heads_q != 0; }

/// What runs on a GPU for this call; nullptr if nothing does.
Result<const ForwardPlan*> gpu_work(const CheckedForward& checked) {
  if (auto ok = check_enabled("attention", checked.on_gpu); !ok) return tl::unexpected(std::move(ok.error()));
  if (checked.on_gpu && has_rows(checked.call.problem)) return plan_on_gpu(checked);
  return nullptr;
}

/// Does what gpu_work() found, or the CPU's part.
Result<void> run(const CheckedForward& checked, const ForwardPlan* plan) {
  if (!plan) {
    if (!has_rows(checked.call.problem)) return {};
    if (logging()) log_cpu(checked);
    return cpu::attention_forward(checked.call);
  }
  const ForwardPlan& work = *plan;
  if (work.workspace_bytes) {
    auto ok = check_workspace(checked.workspace, checked.workspace_bytes, work.workspace_bytes, checked.tensors);
    if (!ok) return ok;
  }
  ForwardArguments arguments;
  if (auto ok = arguments.set(work, checked.call, checked.workspace, encode_tensor_map); !ok) return ok;
  return launch(work.steps.all(), arguments.all(), checked.device, checked.stream);
}

}  // namespace

Result<void> dispatch_forward(const CheckedForward& checked) {
  const auto plan = gpu_work(checked);
  return plan ? run(checked, *plan) : tl::unexpected(plan.error());
}

Result<std::uint64_t> dispatch_try(const CheckedForward& checked) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  const std::uint64_t needed = *plan ? (*plan)->workspace_bytes : 0;
  if (needed && (!checked.workspace || checked.workspace_bytes < needed)) return needed;
  return run(checked, *plan).map([] { return std::uint64_t{0}; });
}

Result<std::uint64_t> dispatch_workspace(const CheckedForward& checked) {
  return gpu_work(checked).map([](const ForwardPlan* plan) { return plan ? plan->workspace_bytes : 0; });
}

Result<void> dispatch_prepare(const CheckedForward& checked) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  return *plan ? prepare((*plan)->steps.all(), checked.device) : Result<void>{};
}

}  // namespace flashfit::api
