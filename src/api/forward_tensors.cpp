#include "api/forward_tensors.hpp"

#include "api/refuse.hpp"

namespace flashfit::api {
namespace {

constexpr const char* kDense = "[batch, seqlen, heads, head_dim]";
constexpr const char* kRagged = "[total, heads, head_dim] with cu_seqlens";

}  // namespace

Result<void> read_tensors(const flashfit_attention_args& args, ForwardTensors& t) {
  t.has_lse = args.lse != nullptr;
  t.ragged = args.cu_seqlens_q && args.cu_seqlens_k;
  if (!t.ragged && (args.cu_seqlens_q || args.cu_seqlens_k)) {
    return refuse("{}: NULL while the other is given; accepted: cu_seqlens_q and cu_seqlens_k, or neither",
                  args.cu_seqlens_q ? "cu_seqlens_k" : "cu_seqlens_q");
  }
  const int ndim = t.ragged ? 3 : 4;
  const char* layout = t.ragged ? kRagged : kDense;
  Result<void> ok = read_argument("q", args.q, ndim, layout, t.q);
  if (ok) ok = read_argument("k", args.k, ndim, layout, t.k);
  if (ok) ok = read_argument("v", args.v, ndim, layout, t.v);
  if (ok) ok = read_argument("out", args.out, ndim, layout, t.out);
  if (ok && t.has_lse)
    ok = read_argument("lse", args.lse, ndim - 1, t.ragged ? "[heads, total]" : "[batch, heads, seqlen]", t.lse);
  if (ok && t.ragged) ok = read_argument("cu_seqlens_q", args.cu_seqlens_q, 1, "[batch + 1]", t.cu_q);
  if (ok && t.ragged) ok = read_argument("cu_seqlens_k", args.cu_seqlens_k, 1, "[batch + 1]", t.cu_k);
  return ok;
}

Result<void> check_devices(const ForwardTensors& t) {
  for (const Argument* a : {&t.k, &t.v, &t.out, &t.lse, &t.cu_q, &t.cu_k}) {
    if (!*a->name) continue;  // not given
    if (a->device.device_type != t.q.device.device_type || a->device.device_id != t.q.device.device_id) {
      return refuse("{}: device is {}; accepted: {}, where q is", a->name, text(a->device), text(t.q.device));
    }
  }
  return {};
}

Result<DType> check_dtypes(const ForwardTensors& t) {
  DType dtype;
  if (is_dtype(t.q.dtype, kDLFloat, 16)) {
    dtype = DType::kF16;
  } else if (is_dtype(t.q.dtype, kDLBfloat, 16)) {
    dtype = DType::kBF16;
  } else if (is_dtype(t.q.dtype, kDLFloat, 32) && !t.q.on_gpu()) {
    dtype = DType::kF32;
  } else {
    return refuse("q: dtype is {} on {}; accepted: fp16, bf16, on the CPU also fp32", text(t.q.dtype),
                  text(t.q.device));
  }
  for (const Argument* a : {&t.k, &t.v, &t.out}) {
    if (!is_dtype(a->dtype, static_cast<DLDataTypeCode>(t.q.dtype.code), t.q.dtype.bits)) {
      return refuse("{}: dtype is {}; accepted: {}, as q", a->name, text(a->dtype), name_of(dtype));
    }
  }
  if (t.has_lse && !is_dtype(t.lse.dtype, kDLFloat, 32))
    return refuse("lse: dtype is {}; accepted: fp32", text(t.lse.dtype));
  for (const Argument* a : {&t.cu_q, &t.cu_k}) {
    if (t.ragged && !is_dtype(a->dtype, kDLInt, 32))
      return refuse("{}: dtype is {}; accepted: int32", a->name, text(a->dtype));
  }
  return dtype;
}

Result<void> check_shapes(const ForwardTensors& t) {
  const auto q = t.q.shape(), k = t.k.shape();
  const int heads = t.q.ndim - 2, dim = t.q.ndim - 1;
  if (q[dim] == 0) return refuse("q: shape is {}; accepted: head_dim from 1", text(q));
  if (k[dim] != q[dim]) return refuse("k: shape is {}; accepted: head_dim {}, as q", text(k), q[dim]);
  if (!t.ragged && k[0] != q[0]) return refuse("k: shape is {}; accepted: batch {}, as q", text(k), q[0]);
  if (k[heads] == 0 ? q[heads] != 0 : q[heads] % k[heads] != 0) {
    return refuse("k: {} heads; accepted: a divisor of q's {}", k[heads], q[heads]);
  }
  if (!std::ranges::equal(t.v.shape(), k))
    return refuse("v: shape is {}; accepted: {}, as k", text(t.v.shape()), text(k));
  if (!std::ranges::equal(t.out.shape(), q))
    return refuse("out: shape is {}; accepted: {}, as q", text(t.out.shape()), text(q));
  if (t.has_lse) {
    const std::int64_t dense[] = {q[0], q[heads], q[1]}, ragged[] = {q[heads], q[0]};
    const std::span<const std::int64_t> want =
        t.ragged ? std::span<const std::int64_t>(ragged) : std::span<const std::int64_t>(dense);
    if (!std::ranges::equal(t.lse.shape(), want)) {
      return refuse("lse: shape is {}; accepted: {}, {}", text(t.lse.shape()), text(want),
                    t.ragged ? "[heads, total]" : "[batch, heads, seqlen]");
    }
  }
  if (t.ragged && t.cu_q.size[0] < 1) return refuse("cu_seqlens_q: shape is (0); accepted: (batch + 1)");
  if (t.ragged && t.cu_k.size[0] != t.cu_q.size[0]) {
    return refuse("cu_seqlens_k: shape is {}; accepted: {}, as cu_seqlens_q", text(t.cu_k.shape()),
                  text(t.cu_q.shape()));
  }
  return {};
}

}  // namespace flashfit::api
