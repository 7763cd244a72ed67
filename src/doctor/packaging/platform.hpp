#pragma once
// The operating systems that wheels are judged for, and which platform tags each takes (PEP 600 manylinux, PEP 656
// musllinux, macOS and Windows as pip reads them).
#include <string>
#include <string_view>

#include "core/base/error.hpp"

namespace flashfit::doctor {

struct Platform {
  enum class System : unsigned char { kGlibc, kMusl, kMacos, kWindows };
  System system = System::kGlibc;
  std::string arch = "x86_64";  ///< "x86_64", "aarch64", "arm64" (macOS, Windows), "amd64", "x86" (Windows)
  int major = 0, minor = 0;     ///< of glibc, musl or macOS; 0.0: unknown, which takes every version
  bool known_version() const { return major != 0; }
  /// "Linux x86_64 with glibc 2.31".
  std::string str() const;
};

/// "linux_x86_64", "manylinux_2_28_aarch64" (glibc 2.28), "manylinux2014_x86_64", "musllinux_1_2_x86_64", "win_amd64",
/// "win32", "macosx_14_0_arm64". Error: the value and what is accepted.
Result<Platform> parse_platform(std::string_view text);

/// Sets the glibc version from "2.31". Error: the value and what is accepted, or that the platform has no glibc.
Result<Platform> with_glibc(Platform platform, std::string_view version);

/// "" if a wheel with this platform tag installs there, else one line why not. "any" always does.
std::string platform_misfit(std::string_view tag, const Platform& here);

}  // namespace flashfit::doctor
