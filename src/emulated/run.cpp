#include "attention/params.hpp"
#include "emu/memory.hpp"
#include "emulated/forward.hpp"
#include "plan/candidates.hpp"

namespace flashfit::emulated {
namespace {

/// From the first element to the last: red zones stay outside.
std::size_t bytes_of(const reference::Tensor& t) {
  if (t.batch == 0 || t.rows == 0 || t.heads == 0) return 0;
  const std::int64_t last = t.index(t.batch - 1, t.rows - 1, t.heads - 1, t.dim - 1) - t.origin;
  return static_cast<std::size_t>(last + 1) * size_of(t.storage->dtype);
}

emu::Memory memory_of(const reference::ForwardData& data, const ForwardParams& p) {
  emu::Memory memory;
  memory.read_only("q", p.q, bytes_of(data.q));
  memory.read_only("k", p.k, bytes_of(data.k));
  memory.read_only("v", p.v, bytes_of(data.v));
  memory.writable("o", p.o, bytes_of(data.out));
  if (p.lse != nullptr) memory.writable("lse", p.lse, data.lse_count() * sizeof(float));
  memory.read_only("cu_seqlens_q", p.cu_seqlens_q, data.cu_seqlens_q.size() * sizeof(std::int32_t));
  memory.read_only("cu_seqlens_k", p.cu_seqlens_k, data.cu_seqlens_k.size() * sizeof(std::int32_t));
  return memory;
}

}  // namespace

Result<emu::Stats> run(const EmulatedForward& kernel, reference::ForwardData& data, emu::Options options,
                       const std::function<void(ForwardParams&)>& adjust) {
  const ForwardCall call = data.call();
  const auto slots = slots_for(call.problem, kernel.variant->config.block_m);
  if (!slots) return fail(Code::kInternal, "the plan has no launch for this case");
  ForwardParams params = forward_params(call, *slots);
  if (adjust) adjust(params);
  options.kernel = name_of(kernel.variant->config);
  return kernel.launch(params.slots * params.heads, params, memory_of(data, params), options);
}

}  // namespace flashfit::emulated
