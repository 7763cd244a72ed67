#pragma once
// What a carried image was compiled for, and the rules of what runs where
// (CUDA C++ Programming Guide, "Binary" and "PTX Compatibility").
#include <compare>
#include <string>

namespace flashfit {

/// 8.9 is {8, 9}.
struct ComputeCapability {
  int major = 0, minor = 0;
  auto operator<=>(const ComputeCapability&) const = default;
  constexpr int decimal() const { return major * 10 + minor; }
  std::string str() const { return std::to_string(major) + "." + std::to_string(minor); }
};

/// A CUDA version as drivers report it: 12090 is 12.9. 0 = unknown.
using CudaVersion = int;

/// What an image was compiled for: machine code (SASS) or PTX, and the compute capability.
struct Target {
  enum class Kind : unsigned char { kSass, kPtx };
  int cc = 0;  ///< decimal: 90 is 9.0
  Kind kind = Kind::kSass;
  auto operator<=>(const Target&) const = default;
  /// "9.0" for SASS, "8.0+PTX" for PTX.
  std::string str() const;
};

/// Whether an image of `target` runs on `gpu` (ignoring the driver). SASS: same major, minor not newer, but
/// integrated 8.7 only exactly; PTX: anything not older.
bool runs_on(Target target, ComputeCapability gpu);

/// Whether PTX made by the carried toolkit (12.9: ISA 8.8) can be compiled by a
/// driver of this CUDA version; true if unknown (0).
bool driver_compiles_ptx(CudaVersion driver);
/// The oldest driver that loads carried SASS: 12.0 (cuLibraryLoadData;
/// minor-version compatibility); true if unknown (0).
bool driver_loads_sass(CudaVersion driver);

}  // namespace flashfit
