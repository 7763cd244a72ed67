#pragma once
// One DLPack argument, read once: shape and strides normalised, memory bounded,
// so that the rules of a call compare plain numbers.
#include <dlpack/dlpack.h>

#include <array>
#include <cstdint>
#include <span>
#include <string>

#include "core/base/error.hpp"

namespace flashfit::api {

/// kDLBool, which headers of DLPack before 0.8 do not name.
inline constexpr auto kBoolCode = static_cast<DLDataTypeCode>(6);

/// Sizes that kernels count in 32 bits, with room to round up to any tile.
inline constexpr std::int64_t kMaxSize = INT32_MAX - 0xffff;

struct Argument {
  static constexpr int kMaxDims = 4;

  const char* name = "";  ///< as in flashfit.h: "q", "cu_seqlens_k"
  void* data = nullptr;   ///< byte_offset included; nullptr only if there are no elements
  int ndim = 0;
  DLDataType dtype{};
  DLDevice device{};  ///< pinned host memory reads as {kDLCPU, 0}
  std::array<std::int64_t, kMaxDims> size{};
  std::array<std::int64_t, kMaxDims>
      stride{};  ///< elements; 0 for dimensions of size 1 (their stride means nothing), 1 for such a last one
  std::uintptr_t begin = 0, end = 0;  ///< bytes from the first to past the last element; both 0 if there are none

  std::span<const std::int64_t> shape() const { return {size.data(), static_cast<std::size_t>(ndim)}; }
  std::span<const std::int64_t> strides() const { return {stride.data(), static_cast<std::size_t>(ndim)}; }
  bool empty() const { return begin == end; }
  bool on_gpu() const { return device.device_type == kDLCUDA; }
};

/// Reads `tensor`, whose shape is written like `layout` ("[batch, seqlen, heads, head_dim]") and has `ndim` (1 to 4)
/// dimensions. Refuses: NULL, another ndim, sizes below 0 or past kMaxSize, devices other than the CPU and CUDA, vector
/// lanes, negative strides, NULL data of a tensor that has elements,
/// data off its natural alignment, and memory whose extent overflows.
/// Fills `a`, which is as new.
Result<void> read_argument(const char* name, const DLTensor* tensor, int ndim, const char* layout, Argument& a);

/// Whether each stride steps past all that smaller ones reach: then no two elements share an address. Strides that
/// interleave may keep elements apart too, but to tell is another matter.
bool strides_nest(const Argument& a);

/// Whether strides are those of a row-major array without gaps.
bool is_contiguous(const Argument& a);

/// Whether the memory from the first to the last element of both has a byte in common. Tensors without elements end at
/// address 0, below any other's begin.
inline bool overlap(const Argument& a, const Argument& b) { return a.begin < b.end && b.begin < a.end; }

/// The refusal of a tensor that a call writes and that has memory in common with another one.
tl::unexpected<Error> refuse_overlap(const Argument& written, const Argument& other);

bool is_dtype(DLDataType t, DLDataTypeCode code, int bits);

/// "(2, 512, 8, 64)".
std::string text(std::span<const std::int64_t> sizes);
/// "fp16", "int64", "fp16x4".
std::string text(DLDataType t);
/// "cpu", "cuda:1", "DLPack device type 10".
std::string text(DLDevice device);

}  // namespace flashfit::api
