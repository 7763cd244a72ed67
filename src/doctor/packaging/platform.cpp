#include "doctor/packaging/platform.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/platform_tag.hpp"

namespace flashfit::doctor {
namespace {

using System = Platform::System;

const char* name_of(System system) {
  switch (system) {
    case System::kGlibc:
      return "Linux with glibc";
    case System::kMusl:
      return "Linux with musl";
    case System::kMacos:
      return "macOS";
    case System::kWindows:
      return "Windows";
  }
  return "";
}

// A 32-bit Arm system takes two names for itself.
bool same_machine(const std::string& tag, const std::string& arch) {
  return tag == arch || (arch == "armv8l" && tag == "armv7l");
}

std::string libc_misfit(const PlatformTag& tag, const Platform& here, std::string_view text, const char* libc) {
  if (tag.versioned && here.known_version() && tag.system == System::kMusl && tag.major != here.major)
    return fmt::format("{} is for musl {}; this system has {}.{}", text, tag.major, here.major, here.minor);
  if (tag.versioned && here.known_version() && std::pair(tag.major, tag.minor) > std::pair(here.major, here.minor))
    return fmt::format("{} needs {} {}.{}; this system has {}.{}", text, libc, tag.major, tag.minor, here.major,
                       here.minor);
  return "";
}

}  // namespace

std::string Platform::str() const {
  const std::string version = known_version() ? fmt::format(" {}.{}", major, minor) : "";
  switch (system) {
    case System::kGlibc:
    case System::kMusl:
      return fmt::format("Linux {} with {}{}", arch, system == System::kMusl ? "musl" : "glibc", version);
    case System::kMacos:
      return fmt::format("macOS{} {}", version, arch);
    case System::kWindows:
      return "Windows " + arch;
  }
  return "";
}

Result<Platform> parse_platform(std::string_view text) {
  const auto tag = parse_platform_tag(lower(text));
  if (!tag || !tag->sound || !is_word(text))
    return fail(
        Code::kInvalidArgument,
        fmt::format("platform '{}': accepted: linux_x86_64, linux_aarch64, win_amd64, or a platform tag such as "
                    "manylinux_2_28_x86_64, musllinux_1_2_x86_64 or macosx_14_0_arm64",
                    printable(text, 60)));
  return Platform{tag->system, tag->arch, tag->major, tag->minor};
}

Result<Platform> with_glibc(Platform platform, std::string_view version) {
  const auto parts = split(version, '.');
  const auto number = [](std::string_view s) {
    return !s.empty() && s.size() <= 4 && std::all_of(s.begin(), s.end(), is_digit) ? std::stoi(std::string(s)) : -1;
  };
  if (parts.size() < 2 || number(parts[0]) < 2 || number(parts[1]) < 0)
    return fail(Code::kInvalidArgument,
                fmt::format("glibc '{}': give a version such as 2.31, from 2.0 on", printable(version, 40)));
  if (platform.system != System::kGlibc)
    return fail(Code::kInvalidArgument, fmt::format("glibc '{}': {} has no glibc", version, platform.str()));
  platform.major = number(parts[0]);
  platform.minor = number(parts[1]);
  return platform;
}

std::string platform_misfit(std::string_view tag, const Platform& here) {
  if (tag == "any") return "";
  const auto parsed = parse_platform_tag(tag);
  if (!parsed) return fmt::format("{} is not a platform of Linux, Windows or macOS", printable(tag, 60));
  const bool bare_linux = parsed->system == System::kGlibc && !parsed->versioned && here.system == System::kMusl;
  if (parsed->system != here.system && !bare_linux)
    return fmt::format("{} is for {}, not your {}", tag, name_of(parsed->system), name_of(here.system));
  if (here.system == System::kMacos) return macos_misfit(*parsed, here, tag);
  if (!same_machine(parsed->arch, here.arch)) return fmt::format("{} is not your {}", parsed->arch, here.arch);
  if (!parsed->sound) return fmt::format("{} is not a tag that installers know", tag);
  return libc_misfit(*parsed, here, tag, here.system == System::kMusl ? "musl" : "glibc");
}

}  // namespace flashfit::doctor
