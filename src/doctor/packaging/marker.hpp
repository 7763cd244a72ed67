#pragma once
// Environment markers behind Requires-Dist's ';' (packaging.python.org, "Dependency specifiers"): whether a requirement
// is asked for here.
#include <optional>
#include <string_view>

#include "doctor/packaging/platform.hpp"
#include "doctor/packaging/python.hpp"

namespace flashfit::doctor {

/// What is known of the environment; no extra is asked for.
struct MarkerEnvironment {
  std::optional<Python> python;
  std::optional<Platform> platform;
};

/// Whether the marker holds; "" does. Nothing where it asks for what is not known, or is no marker.
std::optional<bool> marker_holds(std::string_view marker, const MarkerEnvironment& here);

/// Whether installers read it as a marker: comparisons of variables that the specification names and of texts.
bool is_marker(std::string_view marker);

}  // namespace flashfit::doctor
