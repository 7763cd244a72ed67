#include "runtime/api/gpu_plan.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>

#include "core/gpu/device.hpp"
#include "runtime/api/decision_log.hpp"
#include "runtime/images/carried.hpp"

namespace flashfit::api {
namespace {

/// live_gpu() without its copy, for calls that take microseconds.
/// Kept for good: threads may still call while the process exits.
Result<const Gpu*> remembered_gpu(int index) {
  static std::array<std::atomic<const Gpu*>, 64> known{};
  if (index < 0 || static_cast<std::size_t>(index) >= known.size()) {
    return fail(Code::kInvalidArgument,
                fmt::format("q: device is cuda:{}; accepted: cuda:0 to cuda:{}", index, known.size() - 1));
  }
  if (const Gpu* gpu = known[index].load(std::memory_order_acquire)) return gpu;
  Result<Gpu> asked = live_gpu(index);
  if (!asked && asked.error().code == Code::kInvalidArgument) {
    return fail(Code::kInvalidArgument,
                fmt::format("q: device is cuda:{}; accepted: a GPU that is there ({})", index, asked.error().message));
  }
  if (!asked) return tl::unexpected(std::move(asked.error()));
  auto mine = std::make_unique<const Gpu>(std::move(*asked));
  const Gpu* first = nullptr;
  if (known[index].compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) return mine.release();
  return first;
}

/// All that a plan depends on but the images, which are the same for the process.
struct PlanKey {
  const Gpu* gpu;  ///< one of remembered_gpu(): equal means the same
  CudaVersion driver;
  bool ptx_only;
  ForwardProblem problem;
  bool operator==(const PlanKey&) const = default;
};

/// The last plans of a thread, the oldest replaced first. Plain data: threads leave nothing behind.
struct Memo {
  static constexpr unsigned kPlans = 8;  ///< a model has few shapes at a time; all are compared in each miss
  std::array<PlanKey, kPlans> keys;      ///< gpu is nullptr where there is none yet
  std::array<ForwardPlan, kPlans> plans;
  unsigned oldest;
};
thread_local constinit Memo memo{};

}  // namespace

Result<const ForwardPlan*> plan_on_gpu(const CheckedForward& checked) {
  const auto gpu = remembered_gpu(checked.device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const PlanKey key{*gpu, *driver, checked.ptx_only, checked.call.problem};
  Memo& mine = memo;
  if (checked.variant.empty()) {
    for (unsigned i = 0; i < Memo::kPlans; ++i)
      if (mine.keys[i] == key) return &mine.plans[i];
  }
  if (const Result<void> whole = check_carried_images(); !whole) return tl::unexpected(whole.error());
  const auto plan =
      plan_forward(checked.call.problem, **gpu, *driver, carried_images(), {checked.variant, checked.ptx_only});
  if (!plan) return tl::unexpected(plan.error());
  if (logging()) log_gpu(checked, **gpu, *driver, *plan);
  const unsigned at = mine.oldest;
  mine.oldest = (at + 1) % Memo::kPlans;
  mine.keys[at] = checked.variant.empty() ? key : PlanKey{};
  mine.plans[at] = *plan;
  return &mine.plans[at];
}

}  // namespace flashfit::api
