#include "runtime/api/attention/forward_tensors.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

constexpr const char* kDense = "[batch, seqlen, heads, head_dim]";
constexpr const char* kRagged = "[total, heads, head_dim] with cu_seqlens";
constexpr const char* kSlopes[] = {"[heads]", "[batch, heads], or 1, [heads]"};

/// Those that few calls have.
Result<void> read_options(const flashfit_attention_args& args, ForwardTensors& t) {
  t.has_options = args.alibi_slopes || args.sinks || args.bias || args.seqused_k;
  Result<void> ok;
  if (args.alibi_slopes) {
    const bool shared = args.alibi_slopes->ndim == 1;  // by all sequences
    ok = read_argument("alibi_slopes", args.alibi_slopes, shared ? 1 : 2, kSlopes[!shared], t.alibi);
  }
  if (ok && args.sinks) ok = read_argument("sinks", args.sinks, 1, "[heads]", t.sinks);
  if (args.bias && t.ragged) return refuse("bias: given with cu_seqlens; accepted: none there");
  if (ok && args.bias) ok = read_argument("bias", args.bias, 4, "[batch, heads, seqlen_q, seqlen_k]", t.bias);
  if (ok && args.seqused_k) ok = read_argument("seqused_k", args.seqused_k, 1, "[batch]", t.seqused_k);
  return ok;
}

Result<void> check_option_dtypes(const ForwardTensors& t, DType dtype) {
  for (const Argument* a : {&t.alibi, &t.sinks}) {
    if (is_given(*a) && !is_dtype(a->dtype, kDLFloat, 32))
      return refuse("{}: dtype is {}; accepted: fp32", a->name, text(a->dtype));
  }
  if (is_given(t.bias) && !is_dtype(t.bias.dtype, kBoolCode, 8) && !is_dtype(t.bias.dtype, kDLFloat, 32) &&
      !is_dtype(t.bias.dtype, static_cast<DLDataTypeCode>(t.q.dtype.code), t.q.dtype.bits)) {
    return refuse("bias: dtype is {}; accepted: {}fp32, bool", text(t.bias.dtype),
                  dtype == DType::kF32 ? "" : fmt::format("{}, ", name_of(dtype)));
  }
  if (is_given(t.seqused_k) && !is_dtype(t.seqused_k.dtype, kDLInt, 32))
    return refuse("seqused_k: dtype is {}; accepted: int32", text(t.seqused_k.dtype));
  return {};
}

Result<void> check_option_shapes(const ForwardTensors& t) {
  const std::int64_t batch = t.batch(), heads = t.heads_q();
  const std::int64_t slopes[] = {batch, heads};
  if (is_given(t.alibi) && !std::ranges::equal(t.alibi.shape(), std::span(slopes).last(t.alibi.ndim))) {
    return refuse("alibi_slopes: shape is {}; accepted: ({}), ({}, {})", text(t.alibi.shape()), heads, batch, heads);
  }
  if (is_given(t.sinks) && t.sinks.size[0] != heads)
    return refuse("sinks: shape is {}; accepted: ({}), a logit for each head of q", text(t.sinks.shape()), heads);
  if (is_given(t.bias)) {
    const std::int64_t whole[] = {batch, heads, t.rows_q(), t.rows_k()};
    for (int d = 0; d < 4; ++d) {
      if (t.bias.size[d] != whole[d] && t.bias.size[d] != 1)
        return refuse("bias: shape is {}; accepted: {}, or 1 for any of them", text(t.bias.shape()), text(whole));
    }
  }
  if (is_given(t.seqused_k) && t.seqused_k.size[0] != batch)
    return refuse("seqused_k: shape is {}; accepted: ({}), a number for each sequence", text(t.seqused_k.shape()),
                  batch);
  return {};
}

/// `sizes` with another last one.
std::vector<std::int64_t> with_last(std::span<const std::int64_t> sizes, std::int64_t last) {
  std::vector<std::int64_t> all(sizes.begin(), sizes.end());
  all.back() = last;
  return all;
}

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
  return ok ? read_options(args, t) : ok;
}

Result<void> check_devices(const ForwardTensors& t) {
  for (const Argument* a : {&t.k, &t.v, &t.out, &t.lse, &t.cu_q, &t.cu_k, &t.alibi, &t.sinks, &t.bias, &t.seqused_k}) {
    if (!is_given(*a)) continue;
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
  if (t.has_options) {
    if (auto ok = check_option_dtypes(t, dtype); !ok) return tl::unexpected(std::move(ok.error()));
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
  const auto v = t.v.shape();
  if (v[dim] == 0) return refuse("v: shape is {}; accepted: head_dim from 1", text(v));
  if (!std::ranges::equal(v.first(dim), k.first(dim)))
    return refuse("v: shape is {}; accepted: {}, as k", text(v), text(with_last(k, v[dim])));
  if (!std::ranges::equal(t.out.shape().first(dim), q.first(dim)) || t.out.size[dim] != v[dim]) {
    return refuse("out: shape is {}; accepted: {}, as q{}", text(t.out.shape()), text(with_last(q, v[dim])),
                  v[dim] == q[dim] ? "" : " with v's head_dim");
  }
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
  return t.has_options ? check_option_shapes(t) : Result<void>{};
}

BiasKind bias_kind(const ForwardTensors& t) {
  if (!is_given(t.bias)) return BiasKind::kNone;
  if (t.bias.dtype.code == kBoolCode) return BiasKind::kVisible;
  return t.bias.dtype.bits == 32 ? BiasKind::kF32 : BiasKind::kLikeQ;
}

}  // namespace flashfit::api
