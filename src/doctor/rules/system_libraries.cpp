#include "doctor/rules/system_libraries.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <iterator>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {

std::string RuntimeVersion::str() const {
  return patch == 0 ? fmt::format("{}.{}", major, minor) : fmt::format("{}.{}.{}", major, minor, patch);
}

std::optional<RuntimeVersion> parse_runtime_version(std::string_view version, std::string_view prefix) {
  if (!version.starts_with(prefix)) return std::nullopt;
  version.remove_prefix(prefix.size());
  if (version == "ABI_DT_RELR") return RuntimeVersion{2, 36, 0};
  constexpr std::size_t kLongest = 32;
  if (version.size() > kLongest) return std::nullopt;
  const auto parts = split(version, '.');
  if (parts.size() > 3) return std::nullopt;
  int numbers[3] = {};
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const std::string_view part = parts[i];
    const auto [stop, error] = std::from_chars(part.data(), part.data() + part.size(), numbers[i]);
    if (error != std::errc() || stop != part.data() + part.size() || numbers[i] < 0) return std::nullopt;
  }
  return RuntimeVersion{numbers[0], numbers[1], numbers[2]};
}

std::optional<RuntimeFloor> floor_of(const Binary& binary, std::string_view prefix) {
  std::optional<RuntimeFloor> floor;
  for (const VersionNeed& need : binary.versions) {
    const auto version = parse_runtime_version(need.version, prefix);
    if (version && (!floor || *version > floor->version)) floor = RuntimeFloor{*version, need.symbols};
  }
  return floor;
}

int glibcxx_of_glibc(int major, int minor) {
  struct Row {
    int minor, patch;
  };
  constexpr Row kRows[] = {{5, 8}, {12, 13}, {17, 19}, {24, 22}, {27, 24}, {31, 28}, {34, 29}, {35, 30}, {39, 33}};
  if (major > 2) return std::rbegin(kRows)->patch;
  int patch = 0;
  for (const Row& row : kRows)
    if (major == 2 && minor >= row.minor) patch = row.patch;
  return patch;
}

std::string gcc_of_glibcxx(int patch) {
  constexpr const char* kGcc[] = {"4.8", "4.9", "5",  "6",  "7",  "7.2",  "8",  "9",
                                  "9.2", "9.3", "11", "12", "13", "13.2", "14", "15"};
  constexpr int kFirst = 19;
  if (patch < kFirst) return "4.7 or older";
  const auto at = static_cast<std::size_t>(patch - kFirst);
  return at < std::size(kGcc) ? kGcc[at] : std::string("past 15");
}

}  // namespace flashfit::doctor
