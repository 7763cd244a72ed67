#include "runtime/api/attention/memory_rules.hpp"

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

/// What kernels copy at once.
constexpr std::uintptr_t kVectorBytes = 16;

}  // namespace

Result<void> check_layouts(const ForwardTensors& t) {
  for (const Argument* a : {&t.q, &t.k, &t.v, &t.out}) {
    if (a->stride[a->ndim - 1] != 1)
      return refuse("{}: strides are {}; accepted: 1 in the last dimension", a->name, text(a->strides()));
  }
  for (const Argument* a : {&t.lse, &t.cu_q, &t.cu_k, &t.alibi, &t.sinks, &t.seqused_k}) {
    if (is_given(*a) && !is_contiguous(*a))
      return refuse("{}: strides are {}; accepted: contiguous", a->name, text(a->strides()));
  }
  if (!strides_nest(t.out)) {
    return refuse(
        "out: shape {} with strides {} steps into itself; accepted: each stride past all that smaller ones span",
        text(t.out.shape()), text(t.out.strides()));
  }
  return {};
}

bool is_unaligned(const ForwardTensors& t) {
  const auto elements = static_cast<std::int64_t>(kVectorBytes * 8 / t.q.dtype.bits);
  for (const Argument* a : {&t.q, &t.k, &t.v, &t.out}) {
    std::int64_t odd = 0;
    for (int i = 0; i + 1 < a->ndim; ++i) odd |= a->stride[i] & (elements - 1);
    if (odd != 0 || a->begin % kVectorBytes) return true;
  }
  return false;
}

bool refuses_tensor_maps(const ForwardTensors& t) {
  // CUDA Driver API, cuTensorMapEncodeTiled, in elements.
  const std::int64_t end = (std::int64_t{1} << 40) * 8 / t.q.dtype.bits;
  for (const Argument* a : {&t.q, &t.k, &t.v})
    for (int i = 0; i + 1 < a->ndim; ++i)
      if (a->size[i] > 1 && (a->stride[i] <= 0 || a->stride[i] >= end)) return true;
  return false;
}

Result<void> check_overlaps(const ForwardTensors& t) {
  for (const Argument* written : {&t.out, &t.lse}) {
    for (const Argument* other : all_of(t)) {
      if (written != other && overlap(*written, *other)) {
        return refuse_overlap(*written, *other);
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

Result<void> check_used(const ForwardTensors& t) {
  const auto* used = static_cast<const std::int32_t*>(t.seqused_k.data);
  const auto* offsets = static_cast<const std::int32_t*>(t.cu_k.data);
  for (std::int64_t b = 0; b < t.seqused_k.size[0]; ++b) {
    const std::int64_t keys = t.ragged ? offsets[b + 1] - offsets[b] : t.rows_k();
    if (used[b] < 0 || used[b] > keys)
      return refuse("seqused_k: {} at [{}]; accepted: 0 to {}, the keys of that sequence", used[b], b, keys);
  }
  return {};
}

std::array<const Argument*, 11> all_of(const ForwardTensors& t) {
  return {&t.q, &t.k, &t.v, &t.out, &t.cu_q, &t.cu_k, &t.lse, &t.alibi, &t.sinks, &t.bias, &t.seqused_k};
}

}  // namespace flashfit::api
