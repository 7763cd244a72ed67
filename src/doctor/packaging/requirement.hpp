#pragma once
// One Requires-Dist line (packaging.python.org, "Dependency specifiers"): "torch>=2.6,<2.7; extra == 'gpu'".
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "doctor/packaging/specifier.hpp"

namespace flashfit::doctor {

struct Requirement {
  std::string name;                 ///< normalised: "torch"
  std::vector<std::string> extras;  ///< normalised
  Specifiers versions;              ///< empty: any
  std::string url;                  ///< of "name @ url"; "" if there is none
  std::string marker;               ///< the text behind ';', not evaluated; "" if there is none
  /// Asked for only with an extra: the marker names one.
  bool optional() const { return marker.find("extra") != std::string::npos; }
};

/// Error: one line with the text and what is wrong.
Result<Requirement> parse_requirement(std::string_view given);

}  // namespace flashfit::doctor
