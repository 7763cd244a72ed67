#include "doctor/packaging/platform_tag.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

using System = Platform::System;

// "2_28_x86_64" -> 2, 28, "x86_64". A number has no leading zero: installers compare tags as text.
std::optional<PlatformTag> versioned(System system, std::string_view text) {
  PlatformTag tag{.system = system, .versioned = true};
  for (int* number : {&tag.major, &tag.minor}) {
    const std::size_t end = text.find('_');
    const std::string_view digits = text.substr(0, end);
    if (end == std::string_view::npos || digits.empty() || digits.size() > 4 ||
        (digits.size() > 1 && digits[0] == '0') || !std::all_of(digits.begin(), digits.end(), is_digit))
      return std::nullopt;
    for (const char c : digits) *number = *number * 10 + (c - '0');
    text.remove_prefix(end + 1);
  }
  if (text.empty()) return std::nullopt;
  tag.arch = text;
  return tag;
}

// PEP 513, 571, 599: names from before PEP 600.
struct Legacy {
  std::string_view prefix;
  int minor;
};
constexpr Legacy kLegacy[] = {{"manylinux1_", 5}, {"manylinux2010_", 12}, {"manylinux2014_", 17}};

bool manylinux_sound(const PlatformTag& tag) {
  const bool intel = tag.arch == "x86_64" || tag.arch == "i686";
  const bool known = intel || tag.arch == "aarch64" || tag.arch == "armv7l" || tag.arch == "ppc64" ||
                     tag.arch == "ppc64le" || tag.arch == "s390x" || tag.arch == "loongarch64" || tag.arch == "riscv64";
  return known && tag.major >= 2 && (tag.major > 2 || tag.minor >= (intel ? 5 : 17));
}

std::optional<PlatformTag> linux_tag(std::string_view tag) {
  if (tag.starts_with("linux_") && tag.size() > 6)
    return PlatformTag{.system = System::kGlibc, .arch = std::string(tag.substr(6))};
  if (tag.starts_with("musllinux_")) return versioned(System::kMusl, tag.substr(10));
  std::optional<PlatformTag> found;
  if (tag.starts_with("manylinux_")) found = versioned(System::kGlibc, tag.substr(10));
  for (const Legacy& legacy : kLegacy)
    if (tag.starts_with(legacy.prefix))
      found = PlatformTag{System::kGlibc, std::string(tag.substr(legacy.prefix.size())), 2, legacy.minor, true};
  if (found) found->sound = manylinux_sound(*found);
  return found;
}

// Which formats a binary for macOS `major`.`minor` or older may have on this machine, beside the machine's own name.
bool format_runs(const PlatformTag& tag, const std::string& arch) {
  if (arch == "arm64") return tag.arch == "arm64" ? tag.major >= 11 : tag.arch == "universal2";
  if (arch != "x86_64") return tag.arch == arch;
  constexpr std::string_view kFormats[] = {"x86_64", "intel", "fat64", "fat3", "universal2", "universal"};
  return std::find(std::begin(kFormats), std::end(kFormats), tag.arch) != std::end(kFormats) &&
         std::pair(tag.major, tag.minor) >= std::pair(10, 4);
}

}  // namespace

std::optional<PlatformTag> parse_platform_tag(std::string_view tag) {
  if (tag == "win_amd64" || tag == "win_arm64")
    return PlatformTag{.system = System::kWindows, .arch = std::string(tag.substr(4))};
  if (tag == "win32") return PlatformTag{.system = System::kWindows, .arch = "x86"};
  if (tag.starts_with("macosx_")) return versioned(System::kMacos, tag.substr(7));
  return linux_tag(tag);
}

std::string macos_misfit(const PlatformTag& tag, const Platform& here, std::string_view text) {
  if (!format_runs(tag, here.arch)) return fmt::format("{} is not your {}", tag.arch, here.arch);
  if (here.known_version() && std::pair(tag.major, tag.minor) > std::pair(here.major, here.minor))
    return fmt::format("{} needs macOS {}.{}; this system has {}.{}", text, tag.major, tag.minor, here.major,
                       here.minor);
  // From macOS 11 on installers ask for X.0 alone, and for 10.4 to 10.16 of the years before.
  const bool asked = here.major >= 11
                         ? (tag.major >= 11 ? tag.minor == 0 : tag.major == 10 && tag.minor >= 4 && tag.minor <= 16)
                         : tag.major == 10 || !here.known_version();
  return asked ? "" : fmt::format("{} is not a tag that installers ask for: they name macOS 11 and later by X_0", text);
}

}  // namespace flashfit::doctor
