#include "api/dispatch.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>

#include "attention/params.hpp"
#include "cpu/attention.hpp"
#include "gpu/device.hpp"
#include "images/image.hpp"
#include "images/loader.hpp"
#include "plan/forward.hpp"

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
  if (!asked) return tl::unexpected(std::move(asked.error()));
  auto mine = std::make_unique<const Gpu>(std::move(*asked));
  const Gpu* first = nullptr;
  if (known[index].compare_exchange_strong(first, mine.get(), std::memory_order_acq_rel)) return mine.release();
  return first;
}

Result<void> forward_on_gpu(const CheckedForward& checked) {
  const auto gpu = remembered_gpu(checked.device);
  if (!gpu) return tl::unexpected(gpu.error());
  const auto driver = driver_cuda_version();
  if (!driver) return tl::unexpected(driver.error());
  const auto plan =
      plan_forward(checked.call.problem, **gpu, *driver, carried_images(), {checked.variant, checked.ptx_only});
  if (!plan) return tl::unexpected(plan.error());
  if (plan->workspace_bytes) {
    return fail(Code::kInternal, fmt::format("the plan asks for {} bytes of workspace, which this call cannot give",
                                             plan->workspace_bytes));
  }
  const ForwardParams params = forward_params(checked.call, plan->slots);
  return launch(*plan->image, checked.device, checked.stream, {plan->grid, plan->threads, plan->shared_bytes}, &params);
}

}  // namespace

Result<void> dispatch_forward(const CheckedForward& checked) {
  const ForwardProblem& p = checked.call.problem;
  if (p.total_q == 0 || p.heads_q == 0) return {};  // nothing to write; no keys is another matter: zeros are
  return checked.on_gpu ? forward_on_gpu(checked) : cpu::attention_forward(checked.call);
}

}  // namespace flashfit::api
