#pragma once
// The compatibility tags of a wheel (packaging.python.org, "Platform compatibility tags"), as its file name and its
// WHEEL file write them.
#include <compare>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit::doctor {

/// What one compressed tag set may stand for; the largest seen in a wheel is 12.
inline constexpr std::size_t kMostTags = 1024;

struct WheelTag {
  std::string python, abi, platform;  ///< lower case: "cp311", "cp311", "manylinux_2_28_x86_64"
  auto operator<=>(const WheelTag&) const = default;
  std::string str() const { return python + "-" + abi + "-" + platform; }
};

/// "py2.py3-none-any" -> py2-none-any, py3-none-any. Error: one line with the text and what is wrong.
Result<std::vector<WheelTag>> parse_tags(std::string_view text);

}  // namespace flashfit::doctor
