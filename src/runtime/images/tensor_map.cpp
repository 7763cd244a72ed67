#include "runtime/images/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/gpu/driver.hpp"
#include "core/gpu/driver_versions.hpp"
#include "kernels/layout/tensor_map_rules.hpp"

namespace flashfit {
namespace {

/// CUtensorMapDataType.
int code_of(DType t) { return t == DType::kF16 ? 6 : t == DType::kF32 ? 7 : 9; }

// Values of the other enumerations are those of cuda.h: CUtensorMapSwizzle, CUtensorMapL2promotion and
// CUtensorMapFloatOOBfill count from 0 in the order of ours.
static_assert(int(SwizzleMode::k128B) == 3 && int(L2Promotion::k256B) == 3 && int(OutOfBounds::kNaN) == 1);
constexpr int kNoInterleave = 0;

}  // namespace

Result<TensorMap> encode_tensor_map(const TensorMapSpec& s) {
  if (const auto sound = check(s); !sound) return tl::unexpected(sound.error());
  const Result<const Driver*> found = driver();
  if (!found) return tl::unexpected(found.error());
  const Driver& d = **found;
  if (d.cuTensorMapEncodeTiled == nullptr)
    return fail(Code::kMisfit,
                fmt::format("{} has no cuTensorMapEncodeTiled: tensor maps need a driver for CUDA 12.0 or "
                            "later, and this one is for {}",
                            d.path, str(d.version)));
  TensorMap map{};
  std::uint64_t dims[5], strides[4];
  std::copy_n(s.dims, 5, dims);
  std::copy_n(s.strides, 4, strides);
  const cu::Status status = d.cuTensorMapEncodeTiled(
      &map, code_of(s.dtype), static_cast<std::uint32_t>(s.rank), const_cast<void*>(s.base), dims, strides, s.box,
      s.element_strides, kNoInterleave, static_cast<int>(s.swizzle), static_cast<int>(s.l2), static_cast<int>(s.fill));
  if (status != 0) return fail(Code::kCuda, describe(d, "cuTensorMapEncodeTiled", status));
  return map;
}

}  // namespace flashfit
