#include "api/dispatch.hpp"

#include <fmt/format.h>

#include <array>
#include <atomic>
#include <memory>

#include "attention/config.hpp"
#include "cpu/attention.hpp"
#include "gpu/device.hpp"
#include "images/image.hpp"
#include "images/loader.hpp"
#include "plan/forward.hpp"

namespace flashfit::api {
namespace {

/// live_gpu() without its copy, for calls that take microseconds. Kept for good: threads may still call while the
/// process exits.
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

ForwardParams params_of(const ForwardCall& call, const ForwardPlan& plan) {
  const ForwardProblem& p = call.problem;
  ForwardParams k{};
  k.q = call.q.data;
  k.k = call.k.data;
  k.v = call.v.data;
  k.o = call.o.data;
  k.lse = call.lse;
  k.cu_seqlens_q = call.cu_seqlens_q;
  k.cu_seqlens_k = call.cu_seqlens_k;
  k.q_batch = call.q.batch_stride, k.q_row = call.q.row_stride, k.q_head = call.q.head_stride;
  k.k_batch = call.k.batch_stride, k.k_row = call.k.row_stride, k.k_head = call.k.head_stride;
  k.v_batch = call.v.batch_stride, k.v_row = call.v.row_stride, k.v_head = call.v.head_stride;
  k.o_batch = call.o.batch_stride, k.o_row = call.o.row_stride, k.o_head = call.o.head_stride;
  k.seqlen_q = static_cast<int>(p.variable_length ? p.total_q : p.seqlen_q);
  k.seqlen_k = static_cast<int>(p.variable_length ? p.total_k : p.seqlen_k);
  k.lse_head = k.seqlen_q;
  k.lse_batch = p.variable_length ? 0 : p.heads_q * k.lse_head;
  k.batch = static_cast<int>(p.batch);
  k.heads = static_cast<int>(p.heads_q);
  k.group = static_cast<int>(p.heads_q / p.heads_kv);
  k.slots = static_cast<int>(plan.slots);
  k.causal = p.causal;
  k.softmax_scale = call.softmax_scale;
  return k;
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
  const ForwardParams params = params_of(checked.call, *plan);
  return launch(*plan->image, checked.device, checked.stream, {plan->grid, plan->threads, plan->shared_bytes}, &params);
}

}  // namespace

Result<void> dispatch_forward(const CheckedForward& checked) {
  const ForwardProblem& p = checked.call.problem;
  if (p.total_q == 0 || p.heads_q == 0) return {};  // nothing to write; no keys is another matter: zeros are
  return checked.on_gpu ? forward_on_gpu(checked) : cpu::attention_forward(checked.call);
}

}  // namespace flashfit::api
