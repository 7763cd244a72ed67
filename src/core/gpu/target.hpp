#pragma once
// What a carried image was compiled for, and the rules of what runs where
// (CUDA C++ Programming Guide, "Binary" and "PTX Compatibility").
#include <compare>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

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

/// The letter behind a target, which says which GPUs its code runs on, machine code and PTX alike (PTX ISA manual,
/// ".target").
enum class TargetScope : unsigned char {
  kPlain,         ///< "10.0": machine code on 10.x, PTX on all that came later
  kArchitecture,  ///< "10.0a": 10.0 alone
  kFamily,        ///< "10.0f": its family's members from 10.0 on
};
/// "", "a" or "f".
const char* suffix_of(TargetScope scope);

/// What an image was compiled for: machine code (SASS) or PTX, the compute capability, and the letter behind it.
struct Target {
  enum class Kind : unsigned char { kSass, kPtx };
  int cc = 0;  ///< decimal: 90 is 9.0
  Kind kind = Kind::kSass;
  TargetScope scope = TargetScope::kPlain;
  auto operator<=>(const Target&) const = default;
  /// "9.0", "9.0a" for SASS, "8.0+PTX", "9.0a+PTX" for PTX.
  std::string str() const;
};

/// What Target::str() writes; nothing if `text` is anything else.
std::optional<Target> parse_target(std::string_view text);

/// Whether an image of `target` runs on `gpu` (ignoring the driver). Plain SASS: same major, minor not newer, but
/// integrated 8.7 only exactly; plain PTX: anything not older; of the other scopes what TargetScope says.
bool runs_on(Target target, ComputeCapability gpu);

/// What runs the code of a family target of `cc`, oldest first: of 10.0f, 10.0 and 10.3. `cc` itself where it is of no
/// family.
std::vector<ComputeCapability> family_from(ComputeCapability cc);

/// Whether PTX made by the carried toolkit (12.9: ISA 8.8) can be compiled by a
/// driver of this CUDA version; true if unknown (0).
bool driver_compiles_ptx(CudaVersion driver);
/// The oldest driver that loads carried SASS: 12.0 (cuLibraryLoadData;
/// minor-version compatibility); true if unknown (0).
bool driver_loads_sass(CudaVersion driver);

}  // namespace flashfit
