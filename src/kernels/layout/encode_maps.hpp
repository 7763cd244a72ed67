#pragma once
// How a call's tensor maps are made, whatever the kernel. Host only.
#include <initializer_list>

#include "core/base/error.hpp"
#include "kernels/layout/tensor_map.hpp"
#include "kernels/layout/tensor_map_spec.hpp"

namespace flashfit {

/// Who encodes a map: runtime/images/tensor_map.hpp for GPUs, proof/emu/tensor_map.hpp for the emulator.
using EncodeTensorMap = Result<TensorMap> (*)(const TensorMapSpec& spec);

/// A spec's stride of a dimension of n elements that lie `elements` apart, bytes. One of a single element has none: 16
/// bytes are as good as any that a map takes.
constexpr uint64 map_stride(int64 n, int64 elements, DType dtype) {
  return n <= 1 ? uint64{16} : static_cast<uint64>(elements) * size_of(dtype);
}

/// A map to make, and where it goes.
struct MapOf {
  TensorMap& to;
  TensorMapSpec spec;
};

/// Makes all of them. Errors: those of `encode`.
inline Result<void> encode_all(std::initializer_list<MapOf> maps, EncodeTensorMap encode) {
  for (const auto& [to, spec] : maps) {
    const Result<TensorMap> map = encode(spec);
    if (!map) return tl::unexpected(map.error());
    to = *map;
  }
  return {};
}

}  // namespace flashfit
