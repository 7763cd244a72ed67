#include "runtime/images/tensor_map.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

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

Result<TensorMap> encode(const TensorMapSpec& s) {
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

/// A thread's latest maps. A map follows from its spec alone, so one that was kept stays right whatever happens to the
/// memory; calls of a model come again with the same tensors, and the driver takes most of a microsecond a map.
class KeptMaps {
 public:
  Result<TensorMap> of(const TensorMapSpec& spec) {
    Kept& kept = kept_[place_of(spec)];
    if (!(kept.spec == spec)) {
      const Result<TensorMap> map = encode(spec);
      if (!map) return map;
      kept = {spec, *map};
    }
    return kept.map;
  }

 private:
  static constexpr int kPlacesLog2 = 7;
  struct Kept {
    TensorMapSpec spec;  ///< of rank 0: nothing is kept here
    TensorMap map;
  };

  /// Tensors of a model differ in where they begin, in sizes and in strides; the multiplier is Knuth's for 64 bits
  /// (The Art of Computer Programming 3, 6.4: 2^64 over the golden ratio), whose high bits mix best.
  static std::size_t place_of(const TensorMapSpec& s) {
    constexpr std::uint64_t kMultiplier = 0x9e3779b97f4a7c15;
    std::uint64_t mixed = reinterpret_cast<std::uintptr_t>(s.base);
    for (const std::uint64_t part : {s.dims[1], s.dims[2], s.dims[3], s.strides[0], s.strides[1], s.strides[2]})
      mixed = (mixed ^ part) * kMultiplier;
    return mixed >> (64 - kPlacesLog2);
  }

  Kept kept_[1 << kPlacesLog2] = {};
};

}  // namespace

Result<TensorMap> encode_tensor_map(const TensorMapSpec& spec) {
  thread_local const auto kept = std::make_unique<KeptMaps>();
  return kept->of(spec);
}

}  // namespace flashfit
