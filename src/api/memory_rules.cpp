#include "api/memory_rules.hpp"

#include "api/refuse.hpp"

namespace flashfit::api {
namespace {

/// What GPUs' allocators give and kernels may count on.
constexpr std::uintptr_t kWorkspaceAlignment = 256;

/// `vector_bytes` at an address and `vector_elements` a stride are what the kernels load or store at once.
template <std::uintptr_t vector_bytes, std::int64_t vector_elements>
Result<void> check_gpu_alignment(const Argument& a) {
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

}  // namespace

Result<void> check_layouts(const ForwardTensors& t) {
  for (const Argument* a : {&t.q, &t.k, &t.v, &t.out}) {
    if (a->stride[a->ndim - 1] != 1)
      return refuse("{}: strides are {}; accepted: 1 in the last dimension", a->name, text(a->strides()));
  }
  for (const Argument* a : {&t.lse, &t.cu_q, &t.cu_k}) {
    if (*a->name && !is_contiguous(*a))
      return refuse("{}: strides are {}; accepted: contiguous", a->name, text(a->strides()));
  }
  if (!strides_nest(t.out)) {
    return refuse(
        "out: shape {} with strides {} steps into itself; accepted: each stride past all that smaller ones span",
        text(t.out.shape()), text(t.out.strides()));
  }
  if (!t.q.on_gpu()) return {};
  for (const Argument* a : {&t.q, &t.k, &t.v}) {
    if (auto ok = check_gpu_alignment<16, 8>(*a); !ok) return ok;
  }
  return check_gpu_alignment<4, 2>(t.out);
}

Result<void> check_overlaps(const ForwardTensors& t) {
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

Result<void> check_workspace(const void* data, std::uint64_t bytes, std::uint64_t needed, const ForwardTensors& t) {
  if (!data) return refuse("workspace: NULL; accepted: {} bytes of device memory", needed);
  if (bytes < needed) return refuse("workspace_bytes: {}; accepted: {} or more", bytes, needed);
  const auto begin = reinterpret_cast<std::uintptr_t>(data);
  std::uintptr_t end;
  if (begin % kWorkspaceAlignment)
    return refuse("workspace: address {:#x}; accepted: multiples of {} bytes", begin, kWorkspaceAlignment);
  if (__builtin_add_overflow(begin, bytes, &end))
    return refuse("workspace: {} bytes at {:#x} leave the address space", bytes, begin);
  for (const Argument* a : {&t.q, &t.k, &t.v, &t.out, &t.lse, &t.cu_q, &t.cu_k}) {
    if (begin < a->end && a->begin < end) {
      return refuse("workspace: memory {:#x} to {:#x} overlaps {}'s {:#x} to {:#x}; accepted: memory of its own", begin,
                    end, a->name, a->begin, a->end);
    }
  }
  return {};
}

}  // namespace flashfit::api
