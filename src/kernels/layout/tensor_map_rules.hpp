#pragma once
// What cuTensorMapEncodeTiled demands (CUDA Driver API 13.0, for tiles without interleaving), said in one line each
// where the driver says CUDA_ERROR_INVALID_VALUE. Host code.
#include <fmt/format.h>

#include <cstdint>
#include <string>

#include "core/base/error.hpp"
#include "kernels/layout/tensor_map.hpp"
#include "kernels/layout/tensor_map_spec.hpp"

namespace flashfit {

/// kInvalidArgument names the first member that breaks a rule, its value and what is accepted.
inline Result<void> check(const TensorMapSpec& s) {
  const auto bad = [](const std::string& what) { return fail(Code::kInvalidArgument, "tensor map: " + what); };
  if (s.rank < 1 || s.rank > 5) return bad(fmt::format("rank is {}, not 1 to 5", s.rank));
  if (s.base == nullptr) return bad("base is null");
  if (reinterpret_cast<std::uintptr_t>(s.base) % 16 != 0)
    return bad(fmt::format("base {} is not a multiple of 16", s.base));
  for (int d = 0; d < s.rank; ++d) {
    if (s.dims[d] < 1 || s.dims[d] > std::uint64_t{1} << 32)
      return bad(fmt::format("dims[{}] is {}, not 1 to 2^32", d, s.dims[d]));
    if (s.box[d] < 1 || s.box[d] > 256) return bad(fmt::format("box[{}] is {}, not 1 to 256", d, s.box[d]));
    if (s.element_strides[d] < 1 || s.element_strides[d] > 8)
      return bad(fmt::format("element_strides[{}] is {}, not 1 to 8", d, s.element_strides[d]));
  }
  if (s.element_strides[0] != 1)
    return bad(fmt::format("element_strides[0] is {}: a row is copied whole, so it must be 1", s.element_strides[0]));
  for (int d = 0; d + 1 < s.rank; ++d)
    if (s.strides[d] % 16 != 0 || s.strides[d] >= std::uint64_t{1} << 40)
      return bad(fmt::format("strides[{}] is {} bytes, not a multiple of 16 below 2^40", d, s.strides[d]));
  if (s.inner_bytes() % 16 != 0)
    return bad(fmt::format("box[0] is {} elements of {}, {} bytes, not a multiple of 16", s.box[0], name_of(s.dtype),
                           s.inner_bytes()));
  if (s.swizzle != SwizzleMode::kNone && s.inner_bytes() > static_cast<std::uint32_t>(row_bytes(s.swizzle)))
    return bad(fmt::format("box[0] is {} elements of {}, {} bytes, more than a {} has", s.box[0], name_of(s.dtype),
                           s.inner_bytes(), name_of(s.swizzle)));
  return {};
}

}  // namespace flashfit
