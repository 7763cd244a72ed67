#pragma once
#include <string>
#include <string_view>

#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {

/// Whether two versions differ in their local parts at most, or cannot be told apart as one of them is no version.
inline bool same_release(std::string_view one, std::string_view other) {
  const auto first = parse_version(one), second = parse_version(other);
  return !first || !second || first->public_part() == second->public_part();
}

/// "+cu128" of "0.6.14+cu128"; "" of a version without a label.
inline std::string local_part_of(std::string_view version) {
  const auto parsed = parse_version(version);
  return parsed && !parsed->local.empty() ? "+" + parsed->local : "";
}

}  // namespace flashfit::doctor
