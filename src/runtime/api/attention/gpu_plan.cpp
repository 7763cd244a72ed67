#include "runtime/api/attention/gpu_plan.hpp"

#include "core/gpu/device.hpp"
#include "runtime/api/attention/decisions.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/api/live_gpus.hpp"
#include "runtime/api/plan_memo.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

using Memo = PlanMemo<ForwardProblem, ForwardPlan>;
thread_local constinit Memo memo{};

}  // namespace

Result<const ForwardPlan*> plan_on_gpu(const CheckedForward& checked) {
  const auto gpu = remembered_gpu("q", checked.device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const Memo::Key key{*gpu, *driver, checked.ptx_only, checked.call.problem};
  if (checked.variant.empty())
    if (const ForwardPlan* const known = memo.find(key)) return known;
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  const auto plan =
      plan_forward(checked.call.problem, **gpu, *driver, carried_images(), {checked.variant, checked.ptx_only});
  if (!plan) return tl::unexpected(plan.error());
  if (logging()) log_gpu(checked, **gpu, *driver, *plan);
  return memo.keep(checked.variant.empty() ? key : Memo::Key{}, *plan);
}

}  // namespace flashfit::api
