#include "api/tensor_check.hpp"

#include <fmt/format.h>

#include <cmath>
#include <initializer_list>

#include "api/argument.hpp"

namespace flashfit::api {
namespace {

constexpr std::uint32_t kKnownFlags = FLASHFIT_CAUSAL | FLASHFIT_PTX_ONLY;
constexpr const char* kDense = "[batch, seqlen, heads, head_dim]";
constexpr const char* kRagged = "[total, heads, head_dim] with cu_seqlens";

template <class... Args>
tl::unexpected<Error> refuse(fmt::format_string<Args...> words, Args&&... args) {
  return fail(Code::kInvalidArgument, fmt::format(words, std::forward<Args>(args)...));
}

/// The tensors of a call. lse, cu_q and cu_k are read only if given.
struct Tensors {
  Argument q, k, v, out, lse, cu_q, cu_k;
  bool has_lse = false, ragged = false;
};

Result<void> read_into(Argument& to, const char* name, const DLTensor* from, int ndim, const char* layout) {
  auto read = read_argument(name, from, ndim, layout);
  if (!read) return tl::unexpected(std::move(read.error()));
  to = *read;
  return {};
}

Result<Tensors> read_tensors(const flashfit_attention_args& args) {
  Tensors t;
  t.has_lse = args.lse != nullptr;
  t.ragged = args.cu_seqlens_q && args.cu_seqlens_k;
  if (!t.ragged && (args.cu_seqlens_q || args.cu_seqlens_k)) {
    return refuse("{}: NULL while the other is given; accepted: cu_seqlens_q and cu_seqlens_k, or neither",
                  args.cu_seqlens_q ? "cu_seqlens_k" : "cu_seqlens_q");
  }
  const int ndim = t.ragged ? 3 : 4;
  const char* layout = t.ragged ? kRagged : kDense;
  Result<void> ok = read_into(t.q, "q", args.q, ndim, layout);
  if (ok) ok = read_into(t.k, "k", args.k, ndim, layout);
  if (ok) ok = read_into(t.v, "v", args.v, ndim, layout);
  if (ok) ok = read_into(t.out, "out", args.out, ndim, layout);
  if (ok && t.has_lse)
    ok = read_into(t.lse, "lse", args.lse, ndim - 1, t.ragged ? "[heads, total]" : "[batch, heads, seqlen]");
  if (ok && t.ragged) ok = read_into(t.cu_q, "cu_seqlens_q", args.cu_seqlens_q, 1, "[batch + 1]");
  if (ok && t.ragged) ok = read_into(t.cu_k, "cu_seqlens_k", args.cu_seqlens_k, 1, "[batch + 1]");
  if (!ok) return tl::unexpected(std::move(ok.error()));
  return t;
}

Result<void> check_devices(const Tensors& t) {
  for (const Argument* a : {&t.k, &t.v, &t.out, &t.lse, &t.cu_q, &t.cu_k}) {
    if (!*a->name) continue;  // not given
    if (a->device.device_type != t.q.device.device_type || a->device.device_id != t.q.device.device_id) {
      return refuse("{}: device is {}; accepted: {}, where q is", a->name, text(a->device), text(t.q.device));
    }
  }
  return {};
}

Result<DType> check_dtypes(const Tensors& t) {
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

Result<void> check_shapes(const Tensors& t) {
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

/// `vector_bytes` at an address and `vector_elements` a stride are what the kernels load or store at once.
Result<void> check_gpu_alignment(const Argument& a, unsigned vector_bytes, int vector_elements) {
  if (a.begin % vector_bytes)
    return refuse("{}: address {:#x}; accepted on a GPU: multiples of {} bytes", a.name, a.begin, vector_bytes);
  for (int i = 0; i + 1 < a.ndim; ++i) {
    if (a.stride[i] % vector_elements) {
      return refuse("{}: strides are {}; accepted on a GPU: multiples of {} elements but for the last", a.name,
                    text(a.strides()), vector_elements);
    }
  }
  return {};
}

Result<void> check_layouts(const Tensors& t) {
  for (const Argument* a : {&t.q, &t.k, &t.v, &t.out}) {
    if (a->stride[a->ndim - 1] != 1)
      return refuse("{}: strides are {}; accepted: 1 in the last dimension", a->name, text(a->strides()));
  }
  for (const Argument* a : {&t.lse, &t.cu_q, &t.cu_k}) {
    if (*a->name && !is_contiguous(*a))
      return refuse("{}: strides are {}; accepted: contiguous", a->name, text(a->strides()));
  }
  if (!elements_are_distinct(t.out)) {
    return refuse("out: shape {} with strides {} puts elements on one another; accepted: each element its own place",
                  text(t.out.shape()), text(t.out.strides()));
  }
  if (!t.q.on_gpu()) return {};
  for (const Argument* a : {&t.q, &t.k, &t.v}) {
    if (auto ok = check_gpu_alignment(*a, 16, 8); !ok) return ok;
  }
  return check_gpu_alignment(t.out, 4, 2);
}

Result<void> check_overlaps(const Tensors& t) {
  for (const Argument* written : {&t.out, &t.lse}) {
    for (const Argument* other : {&t.q, &t.k, &t.v, &t.cu_q, &t.cu_k, &t.lse}) {
      if (written != other && overlap(*written, *other)) {
        return refuse("{}: memory {:#x} to {:#x} overlaps {}'s {:#x} to {:#x}; accepted: memory of its own",
                      written->name, written->begin, written->end, other->name, other->begin, other->end);
      }
    }
  }
  return {};
}

Result<void> check_offsets(const Argument& cu, const Argument& rows) {
  const auto* offsets = static_cast<const std::int32_t*>(cu.data);
  const std::int64_t last = cu.size[0] - 1;
  if (offsets[0] != 0) return refuse("{}: starts with {}; accepted: 0", cu.name, offsets[0]);
  for (std::int64_t i = 0; i < last; ++i) {
    if (offsets[i + 1] < offsets[i])
      return refuse("{}: {} follows {} at [{}]; accepted: values that never fall", cu.name, offsets[i + 1], offsets[i],
                    i + 1);
  }
  if (offsets[last] != rows.size[0])
    return refuse("{}: ends with {}; accepted: {}, the rows of {}", cu.name, offsets[last], rows.size[0], rows.name);
  return {};
}

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

ForwardProblem problem_of(const Tensors& t, DType dtype, bool causal) {
  const int heads = t.q.ndim - 2;
  ForwardProblem p;
  p.dtype = dtype;
  p.head_dim = static_cast<int>(t.q.size[heads + 1]);
  p.batch = t.ragged ? t.cu_q.size[0] - 1 : t.q.size[0];
  p.heads_q = t.q.size[heads];
  p.heads_kv = t.k.size[heads];
  p.causal = causal;
  p.variable_length = t.ragged;
  if (t.ragged) {
    const std::int64_t sequences = p.batch > 0 ? p.batch : 1;
    p.total_q = t.q.size[0];
    p.total_k = t.k.size[0];
    p.seqlen_q = (p.total_q + sequences - 1) / sequences;
    p.seqlen_k = (p.total_k + sequences - 1) / sequences;
  } else {
    p.seqlen_q = t.q.size[1];
    p.seqlen_k = t.k.size[1];
    p.total_q = p.batch * p.seqlen_q;  // both below 2^31
    p.total_k = p.batch * p.seqlen_k;
  }
  return p;
}

}  // namespace

Result<CheckedForward> check_forward(const flashfit_attention_args* caller_args) {
  const auto args = current_version(caller_args);
  if (!args) return tl::unexpected(args.error());
  if (const std::uint32_t unknown = args->flags & ~kKnownFlags) {
    return refuse("flags: {:#x} is unknown; accepted: FLASHFIT_CAUSAL ({:#x}), FLASHFIT_PTX_ONLY ({:#x})", unknown,
                  FLASHFIT_CAUSAL, FLASHFIT_PTX_ONLY);
  }
  const auto tensors = read_tensors(*args);
  if (!tensors) return tl::unexpected(tensors.error());
  const Tensors& t = *tensors;
  if (auto ok = check_devices(t); !ok) return tl::unexpected(std::move(ok.error()));
  const auto dtype = check_dtypes(t);
  if (!dtype) return tl::unexpected(dtype.error());
  for (const auto& check : {check_shapes, check_layouts, check_overlaps}) {
    if (auto ok = check(t); !ok) return tl::unexpected(std::move(ok.error()));
  }
  if (t.ragged && !t.q.on_gpu()) {
    if (auto ok = check_offsets(t.cu_q, t.q); !ok) return tl::unexpected(std::move(ok.error()));
    if (auto ok = check_offsets(t.cu_k, t.k); !ok) return tl::unexpected(std::move(ok.error()));
  }
  if (args->variant && !t.q.on_gpu())
    return refuse("variant: \"{}\" with tensors on the CPU; accepted there: NULL", args->variant);

  CheckedForward checked;
  checked.call.problem = problem_of(t, *dtype, args->flags & FLASHFIT_CAUSAL);
  const auto scale = check_scale(args->softmax_scale, checked.call.problem.head_dim);
  if (!scale) return tl::unexpected(scale.error());
  checked.call.softmax_scale = *scale;
  checked.call.q = view_of(t.q);
  checked.call.k = view_of(t.k);
  checked.call.v = view_of(t.v);
  checked.call.o = view_of(t.out);
  checked.call.lse = static_cast<float*>(t.lse.data);
  checked.call.cu_seqlens_q = static_cast<const std::int32_t*>(t.cu_q.data);
  checked.call.cu_seqlens_k = static_cast<const std::int32_t*>(t.cu_k.data);
  checked.on_gpu = t.q.on_gpu();
  checked.device = t.q.on_gpu() ? t.q.device.device_id : 0;
  checked.stream = args->stream;
  checked.variant = args->variant ? args->variant : "";
  checked.ptx_only = args->flags & FLASHFIT_PTX_ONLY;
  return checked;
}

}  // namespace flashfit::api
