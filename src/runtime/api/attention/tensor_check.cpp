#include "runtime/api/attention/tensor_check.hpp"

#include <cmath>

#include "runtime/api/attention/memory_rules.hpp"
#include "runtime/api/attention/problem_rows.hpp"
#include "runtime/api/attention/window.hpp"
#include "runtime/api/refuse.hpp"
#include "runtime/api/versioned.hpp"

namespace flashfit::api {
namespace {

constexpr std::uint32_t kKnownFlags = FLASHFIT_CAUSAL | FLASHFIT_PTX_ONLY | FLASHFIT_WINDOW | FLASHFIT_BATCH_INVARIANT;

Result<float> check_scale(float scale, std::int64_t head_dim) {
  if (scale == 0) return 1.0f / std::sqrt(static_cast<float>(head_dim));
  if (!(scale > 0) || !std::isfinite(scale))
    return refuse("softmax_scale: {}; accepted: above 0 and finite, or 0 for 1 / sqrt(head_dim)", scale);
  return scale;
}

TensorView view_of(const Argument& a) {
  if (a.ndim == 3) return {a.data, 0, a.stride[0], a.stride[1]};
  return {a.data, a.stride[0], a.stride[1], a.stride[2]};
}

Result<void> check_softcap(float softcap) {
  if (softcap >= 0 && std::isfinite(softcap)) return {};
  return refuse("softcap: {}; accepted: above 0 and finite, or 0 for none", softcap);
}

void set_problem(ForwardProblem& p, const ForwardTensors& t, DType dtype, const flashfit_attention_args& args) {
  const int heads = t.q.ndim - 2;
  p.dtype = dtype;
  p.head_dim = static_cast<int>(t.q.size[heads + 1]);
  p.head_dim_v = static_cast<int>(t.v.size[heads + 1]);
  p.batch = t.batch();
  p.heads_q = t.q.size[heads];
  p.heads_kv = t.k.size[heads];
  p.causal = args.flags & FLASHFIT_CAUSAL;
  t.ragged ? set_ragged_rows(p, t.q.size[0], t.k.size[0]) : set_dense_rows(p, t.q.size[1], t.k.size[1]);
  p.softcap = args.softcap > 0;
  p.alibi = is_given(t.alibi);
  p.sinks = is_given(t.sinks);
  p.used_keys = is_given(t.seqused_k);
  p.bias = bias_kind(t);
  p.unaligned = t.q.on_gpu() && is_unaligned(t);
  p.no_tensor_maps = t.q.on_gpu() && refuses_tensor_maps(t);
  p.batch_invariant = args.flags & FLASHFIT_BATCH_INVARIANT;
}

void set_options(ForwardCall& call, const ForwardTensors& t) {
  call.alibi_slopes = static_cast<const float*>(t.alibi.data);
  call.alibi_batch_stride = t.alibi.ndim == 2 && t.alibi.size[0] > 1 ? t.heads_q() : 0;
  call.sinks = static_cast<const float*>(t.sinks.data);
  call.seqused_k = static_cast<const std::int32_t*>(t.seqused_k.data);
  call.bias = t.bias.data;
  std::int64_t* const strides[] = {&call.bias_batch_stride, &call.bias_head_stride, &call.bias_row_stride,
                                   &call.bias_key_stride};
  // A size of 1 that the problem has too is never stepped along.
  for (int d = 0; d < 4; ++d) *strides[d] = t.bias.size[d] > 1 ? t.bias.stride[d] : 0;
}

/// Fills `checked`, which is as new.
Result<void> check(const flashfit_attention_args& args, CheckedForward& checked) {
  if (const std::uint32_t unknown = args.flags & ~kKnownFlags) {
    return refuse(
        "flags: {:#x} is unknown; accepted: FLASHFIT_CAUSAL ({:#x}), FLASHFIT_PTX_ONLY ({:#x}), FLASHFIT_WINDOW "
        "({:#x}), FLASHFIT_BATCH_INVARIANT ({:#x})",
        unknown, FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY, FLASHFIT_WINDOW, FLASHFIT_BATCH_INVARIANT);
  }
  ForwardTensors& t = checked.tensors;
  if (auto ok = read_tensors(args, t); !ok) return ok;
  if (auto ok = check_devices(t); !ok) return ok;
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  if (auto ok = check_shapes(t); !ok) return ok;
  if (auto ok = check_layouts(t); !ok) return ok;
  if (auto ok = check_overlaps(t); !ok) return ok;
  if (t.ragged && !t.q.on_gpu()) {
    if (auto ok = check_offsets(t.cu_q, t.q); !ok) return ok;
    if (auto ok = check_offsets(t.cu_k, t.k); !ok) return ok;
  }
  if (is_given(t.seqused_k) && !t.q.on_gpu()) {
    if (auto ok = check_used(t); !ok) return ok;
  }
  if (args.variant && !t.q.on_gpu())
    return refuse("variant: \"{}\" with tensors on the CPU; accepted there: NULL", args.variant);
  const auto scale = check_scale(args.softmax_scale, t.q.size[t.q.ndim - 1]);
  if (!scale) return tl::unexpected(scale.error());
  if (auto ok = check_softcap(args.softcap); !ok) return ok;

  ForwardCall& call = checked.call;
  set_problem(call.problem, t, *dtype, args);
  const Window window{(args.flags & FLASHFIT_WINDOW) != 0, args.window_left, args.window_right};
  if (auto ok = set_window(call.problem, window); !ok) return ok;
  set_options(call, t);
  call.softcap = args.softcap;
  call.softmax_scale = *scale;
  call.q = view_of(t.q);
  call.k = view_of(t.k);
  call.v = view_of(t.v);
  call.o = view_of(t.out);
  call.lse = static_cast<float*>(t.lse.data);
  call.cu_seqlens_q = static_cast<const std::int32_t*>(t.cu_q.data);
  call.cu_seqlens_k = static_cast<const std::int32_t*>(t.cu_k.data);
  checked.on_gpu = t.q.on_gpu();
  checked.device = t.q.on_gpu() ? t.q.device.device_id : 0;
  checked.stream = args.stream;
  checked.workspace = args.workspace;
  checked.workspace_bytes = args.workspace_bytes;
  checked.variant = args.variant ? args.variant : "";
  checked.ptx_only = args.flags & FLASHFIT_PTX_ONLY;
  return {};
}

}  // namespace

Result<CheckedForward> check_forward(const flashfit_attention_args* caller_args) {
  Result<CheckedForward> checked;  // filled in place: a copy would cost as much as the checks
  auto args = current_version(caller_args);
  Result<void> ok = args ? check(*args, *checked) : Result<void>(tl::unexpected(std::move(args.error())));
  if (!ok) checked = tl::unexpected(std::move(ok.error()));
  return checked;
}

}  // namespace flashfit::api
