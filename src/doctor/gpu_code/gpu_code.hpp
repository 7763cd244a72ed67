#pragma once
// What GPU code says of its target, as PTX and cubins have it in common.
#include <string>
#include <string_view>

#include "core/gpu/target.hpp"
#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

struct GpuTarget {
  int architecture = 0;  ///< decimal: 90 is 9.0
  TargetScope scope = TargetScope::kPlain;
  bool operator==(const GpuTarget&) const = default;
  /// "9.0a"
  std::string str() const;
};

/// Reads "sm_90a" or "compute_100f", to the first character that belongs to neither; nothing if it is no target.
std::optional<GpuTarget> parse_gpu_target(std::string_view text);

}  // namespace flashfit::doctor
