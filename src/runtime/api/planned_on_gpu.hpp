#pragma once
// The plan of a call on a GPU of this machine, among the images carried.
#include "core/gpu/device.hpp"
#include "runtime/api/live_gpus.hpp"
#include "runtime/api/plan_memo.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {

/// What `plan(gpu, driver)` gives, a Result. Errors before it: remembered_gpu()'s of `argument`, the driver's, and that
/// the images carried are damaged.
template <class Plan>
auto planned_on_gpu(const char* argument, int device, Plan plan) -> decltype(plan(Gpu{}, CudaVersion{})) {
  const auto gpu = remembered_gpu(argument, device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  return plan(**gpu, *driver);
}

/// The same, which `memo` keeps for the next call of an equal problem.
template <class Problem, class Kept, class Plan>
Result<const Kept*> planned_on_gpu(PlanMemo<Problem, Kept>& memo, const char* argument, int device, bool ptx_only,
                                   const Problem& problem, Plan plan) {
  const auto gpu = remembered_gpu(argument, device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const typename PlanMemo<Problem, Kept>::Key key{*gpu, *driver, ptx_only, problem};
  if (const Kept* const known = memo.find(key)) return known;
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  const auto found = plan(**gpu, *driver);
  if (!found) return tl::unexpected(found.error());
  return memo.keep(key, *found);
}

}  // namespace flashfit::api
