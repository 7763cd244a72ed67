#include "runtime/api/argument.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

/// The byte after the last element relative to the first; false if that overflows.
bool extent_bytes(const Argument& a, std::int64_t item_bytes, std::int64_t& bytes) {
  std::int64_t last = 0;
  for (int i = 0; i < a.ndim; ++i) {
    std::int64_t step;
    if (__builtin_mul_overflow(a.size[i] - 1, a.stride[i], &step) || __builtin_add_overflow(last, step, &last))
      return false;
  }
  return !__builtin_add_overflow(last, std::int64_t{1}, &last) && !__builtin_mul_overflow(last, item_bytes, &bytes);
}

Result<void> read_shape(const DLTensor& t, const char* layout, Argument& a) {
  if (t.ndim != a.ndim)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} dimensions; accepted: {}, {}", a.name, t.ndim, a.ndim, layout));
  if (!t.shape)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: shape is NULL; accepted: {} sizes, {}", a.name, a.ndim, layout));
  bool fits = true;
  for (int i = 0; i < a.ndim; ++i) {
    a.size[i] = t.shape[i];
    fits &= a.size[i] >= 0 && a.size[i] <= kMaxSize;
  }
  if (!fits) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: shape is {}; accepted: sizes from 0 to {}", a.name, text(a.shape()), kMaxSize));
  }
  return {};
}

/// Fills strides; `elements` gets their count. A dimension of size 0 or 1 is never stepped along: frameworks leave
/// anything in its stride.
Result<void> read_strides(const DLTensor& t, Argument& a, std::int64_t& elements) {
  if (std::ranges::count(a.shape(), 0)) {  // then the other sizes count nothing
    elements = 0;
    for (int i = 0; i < a.ndim; ++i) a.stride[i] = i == a.ndim - 1;
    return {};
  }
  elements = 1;
  bool falls = false;
  for (int i = a.ndim - 1; i >= 0; --i) {
    const std::int64_t given = t.strides ? t.strides[i] : elements;
    a.stride[i] = a.size[i] > 1 ? given : i == a.ndim - 1;
    falls |= a.stride[i] < 0;
    if (__builtin_mul_overflow(elements, a.size[i], &elements)) {
      return fail(Code::kInvalidArgument,
                  fmt::format("{}: shape {} has more elements than 64 bits count", a.name, text(a.shape())));
    }
  }
  if (falls) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: strides are {}; accepted: 0 or more", a.name, text(a.strides())));
  }
  return {};
}

Result<void> read_memory(const DLTensor& t, Argument& a, std::int64_t elements) {
  if (elements == 0) return {};
  if (!t.data) {
    return fail(
        Code::kInvalidArgument,
        fmt::format("{}: data is NULL with shape {}; accepted: memory that holds the tensor", a.name, text(a.shape())));
  }
  const std::int64_t item_bytes = a.dtype.bits / 8;
  std::int64_t bytes;
  std::uintptr_t begin, end;
  if (!extent_bytes(a, item_bytes, bytes) ||
      __builtin_add_overflow(reinterpret_cast<std::uintptr_t>(t.data), t.byte_offset, &begin) ||
      __builtin_add_overflow(begin, static_cast<std::uintptr_t>(bytes), &end)) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: shape {} with strides {} and byte_offset {} leaves the address space", a.name,
                            text(a.shape()), text(a.strides()), t.byte_offset));
  }
  // A division by what is known only now would cost as much as all other checks.
  if (item_bytes == 2 ? begin % 2 : item_bytes == 4 ? begin % 4 : begin % item_bytes) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: address {:#x} (data + byte_offset); accepted: multiples of {} bytes for {}", a.name,
                            begin, item_bytes, text(a.dtype)));
  }
  a.data = reinterpret_cast<void*>(begin);  // an offset past half the address space is no offset of a pointer
  a.begin = begin;
  a.end = end;
  return {};
}

}  // namespace

Result<void> read_argument(const char* name, const DLTensor* tensor, int ndim, const char* layout, Argument& a) {
  if (!tensor) return fail(Code::kInvalidArgument, fmt::format("{}: NULL; accepted: a tensor {}", name, layout));
  a.name = name;
  a.ndim = ndim;
  const DLDataType dtype = a.dtype = tensor->dtype;
  const DLDevice device = tensor->device;
  const bool cpu = device.device_type == kDLCPU || device.device_type == kDLCUDAHost;
  a.device = cpu ? DLDevice{kDLCPU, 0} : device;
  if (!cpu && device.device_type != kDLCUDA) {
    return fail(Code::kInvalidArgument, fmt::format("{}: device is {}; accepted: cpu, cuda", name, text(device)));
  }
  if (dtype.lanes != 1 || dtype.bits < 8 || dtype.bits % 8) {
    return fail(Code::kInvalidArgument,
                fmt::format("{}: dtype is {}; accepted: whole bytes, one lane", name, text(dtype)));
  }
  std::int64_t elements = 0;
  Result<void> ok = read_shape(*tensor, layout, a);
  if (ok) ok = read_strides(*tensor, a, elements);
  if (ok) ok = read_memory(*tensor, a, elements);
  return ok;
}

bool strides_nest(const Argument& a) {
  if (is_contiguous(a)) return true;
  std::array<int, Argument::kMaxDims> order{0, 1, 2, 3};  // dimensions that the tensor lacks have size 0
  std::ranges::sort(order, {}, [&](int d) { return a.stride[d]; });
  std::int64_t reach = 0;  // of the dimensions so far; cannot overflow: the whole extent did not
  for (const int d : order) {
    if (a.size[d] <= 1) continue;
    if (a.stride[d] <= reach) return false;
    reach += (a.size[d] - 1) * a.stride[d];
  }
  return true;
}

bool is_contiguous(const Argument& a) {
  if (a.empty()) return true;
  std::int64_t expected = 1;
  for (int i = a.ndim - 1; i >= 0; --i) {
    if (a.size[i] > 1 && a.stride[i] != expected) return false;
    expected *= a.size[i];
  }
  return true;
}

tl::unexpected<Error> refuse_overlap(const Argument& written, const Argument& other) {
  return refuse("{}: memory {:#x} to {:#x} overlaps {}'s {:#x} to {:#x}; accepted: memory of its own", written.name,
                written.begin, written.end, other.name, other.begin, other.end);
}

bool is_dtype(DLDataType t, DLDataTypeCode code, int bits) { return t.code == code && t.bits == bits; }

std::string text(std::span<const std::int64_t> sizes) { return fmt::format("({})", fmt::join(sizes, ", ")); }

std::string text(DLDataType t) {
  const auto name = [&]() -> std::string {
    if (is_dtype(t, kDLFloat, 16)) return "fp16";
    if (is_dtype(t, kDLFloat, 32)) return "fp32";
    if (is_dtype(t, kDLBfloat, 16)) return "bf16";
    if (is_dtype(t, kBoolCode, 8)) return "bool";
    switch (t.code) {
      case kDLInt:
        return fmt::format("int{}", t.bits);
      case kDLUInt:
        return fmt::format("uint{}", t.bits);
      case kDLFloat:
        return fmt::format("fp{}", t.bits);
      case kDLBfloat:
        return fmt::format("bf{}", t.bits);
      case kDLComplex:
        return fmt::format("complex{}", t.bits);
      default:
        return fmt::format("DLPack type {} of {} bits", t.code, t.bits);
    }
  }();
  return t.lanes == 1 ? name : fmt::format("{}x{}", name, t.lanes);
}

std::string text(DLDevice d) {
  if (d.device_type == kDLCPU) return "cpu";
  if (d.device_type == kDLCUDA) return fmt::format("cuda:{}", d.device_id);
  return fmt::format("DLPack device type {}", static_cast<int>(d.device_type));
}

}  // namespace flashfit::api
