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

Result<void> run_on_cpu(const CheckedForward& checked) {
  if (!has_rows(checked.call.problem)) return {};
  if (logging()) log_cpu(checked);
  return cpu::attention_forward(checked.call);
}

}  // namespace

Result<void> dispatch_forward(const CheckedForward& checked, const Allocator& allocator) {
  const auto plan = gpu_work(checked);
  if (!plan) return tl::unexpected(plan.error());
  if (!*plan) return run_on_cpu(checked);
  const ForwardPlan& work = **plan;
  void* workspace = nullptr;
  if (work.workspace_bytes) {
    const auto found = find_workspace(checked.workspace, checked.workspace_bytes, work.workspace_bytes, allocator,
                                      all_of(checked.tensors));
    if (!found) return tl::unexpected(found.error());
    workspace = *found;
  }
  ForwardArguments arguments;
  if (auto ok = arguments.set(work, checked.call, workspace, encode_tensor_map); !ok) return ok;
  return launch(work.steps.all(), arguments.all(), checked.device, checked.stream);
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
