#pragma once
// The file name of a wheel (packaging.python.org, "Binary distribution format", "File name convention"):
// {name}-{version}[-{build}]-{python}-{abi}-{platform}.whl
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "doctor/packaging/version.hpp"
#include "doctor/packaging/wheel_tag.hpp"

namespace flashfit::doctor {

inline constexpr std::size_t kLongestWheelName = 1024;  ///< characters; file systems take 255

struct WheelName {
  std::string name;  ///< normalised: lower case, runs of '-', '_' and '.' as one '-'
  Version version;
  std::string build;  ///< "" if there is none; starts with a digit
  std::vector<WheelTag> tags;
};

/// '+' for each "%2B", as which addresses and browsers give it.
std::string with_plus(std::string_view name);

/// The file name alone, without folders; with_plus() is applied to it. Error: one line with the name and what is wrong.
Result<WheelName> parse_wheel_name(std::string_view file_name);

/// "Flash_Attn" -> "flash-attn": names that are equal so are one project.
std::string normalised_name(std::string_view name);

/// A normalised name as file names and imports have it: "flash_attn" of "flash-attn".
std::string underscored(std::string name);

}  // namespace flashfit::doctor
