#pragma once
// Platform tags taken apart: "manylinux_2_28_x86_64" is glibc 2.28 on x86_64.
#include <optional>
#include <string>
#include <string_view>

#include "doctor/packaging/platform.hpp"

namespace flashfit::doctor {

struct PlatformTag {
  Platform::System system;
  std::string arch;  ///< macOS: the binary's format, "arm64" or "universal2"
  int major = 0, minor = 0;
  bool versioned = false;  ///< linux_x86_64 and Windows name no version
  /// Whether an installer ever asks for this tag: manylinux goes back to glibc 2.5 on x86_64 and i686, 2.17 elsewhere,
  /// and knows certain machines alone.
  bool sound = true;
};

/// nullopt where the tag is of none of these systems. `tag` in lower case.
std::optional<PlatformTag> parse_platform_tag(std::string_view tag);

/// The rest of platform_misfit where both are macOS.
std::string macos_misfit(const PlatformTag& tag, const Platform& here, std::string_view text);

}  // namespace flashfit::doctor
