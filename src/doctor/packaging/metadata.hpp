#pragma once
// What METADATA and WHEEL say of a wheel, and whether that agrees with its file name.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/base/error.hpp"
#include "doctor/packaging/python.hpp"
#include "doctor/packaging/requirement.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {

struct Metadata {
  std::string name;  ///< normalised
  Version version;
  std::string requires_python;                ///< as written; "" if there is none
  std::optional<Specifiers> python_versions;  ///< none: not said, or not a specifier
  std::vector<Requirement> requirements;
  std::vector<std::string> unread;  ///< one line for each Requires-Dist or Requires-Python that cannot be read
};

/// Error: "malformed: WHAT at OFFSET" for the headers, one line for a missing or bad Name or Version.
Result<Metadata> parse_metadata(std::string_view text);

struct WheelFile {
  std::string version;  ///< of the format: "1.0"
  std::string generator, build;
  bool pure = false;  ///< Root-Is-Purelib
  std::vector<WheelTag> tags;
  std::vector<std::string> unread;  ///< one line for each Tag that cannot be read
};

/// Error: "malformed: WHAT at OFFSET", one line for a missing Wheel-Version, or for more than kMostTags.
Result<WheelFile> parse_wheel_file(std::string_view text);

/// "" if installers read wheels of this Wheel-Version, which are those of 1.x and older, else one line that says so.
std::string format_misfit(const WheelFile& file);

/// "" if a wheel of this file name has one .dist-info folder whose name begins as the file's does, else one line.
/// Without any, METADATA is missing, which is told as such.
std::string dist_info_misfit(const WheelName& name, const std::vector<std::string>& dist_infos);

/// "" if Requires-Python takes this Python or cannot be told, else "needs Python >=3.12; yours is 3.11.4".
std::string python_misfit(const Metadata& metadata, const Python& python);

/// One line for each thing that the file name and METADATA or WHEEL say differently: "the file name says
/// manylinux_2_28_x86_64, WHEEL says linux_x86_64".
std::vector<std::string> disagreements(const WheelName& name, const Metadata& metadata);
std::vector<std::string> disagreements(const WheelName& name, const WheelFile& file);

}  // namespace flashfit::doctor
