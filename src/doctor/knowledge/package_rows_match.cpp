// Which rows of what is known hold for a package, a GPU and a file.
#include <charconv>
#include <optional>

#include "core/base/ascii.hpp"
#include "doctor/knowledge/package_rows.hpp"
#include "doctor/packaging/specifier.hpp"
#include "doctor/packaging/version.hpp"

namespace flashfit::doctor {
namespace {

bool of_package(std::string_view pattern, std::string_view name) {
  if (!pattern.ends_with('*')) return pattern == name;
  return name.starts_with(pattern.substr(0, pattern.size() - 1));
}

bool of_version(std::string_view versions, std::string_view version) {
  if (versions.empty()) return true;
  const auto specifiers = parse_specifiers(versions);
  const auto parsed = parse_version(version);
  // Builds of one's own count as the release that they were made from.
  return specifiers && parsed && refusing(*specifiers, parsed->public_part()) == nullptr;
}

std::optional<ComputeCapability> capability(std::string_view text) {
  ComputeCapability cc;
  const char *const begin = text.data(), *const end = begin + text.size();
  const auto major = std::from_chars(begin, end, cc.major);
  if (major.ec != std::errc() || major.ptr == end || *major.ptr != '.') return std::nullopt;
  return std::from_chars(major.ptr + 1, end, cc.minor).ec == std::errc() ? std::optional(cc) : std::nullopt;
}

}  // namespace

std::vector<const Knowledge*> known_of(std::string_view package, std::string_view version, Knowledge::Kind kind) {
  std::vector<const Knowledge*> rows;
  for (const Knowledge& row : knowledge())
    if (row.kind == kind && of_package(row.package, package) && of_version(row.versions, version)) rows.push_back(&row);
  return rows;
}

bool names_gpu(std::string_view gpus, ComputeCapability gpu) {
  if (gpus.empty()) return true;
  for (const std::string_view part : split(gpus, ' ')) {
    const std::size_t dash = part.find('-');
    const auto first = capability(part.substr(0, std::min(dash, part.find(':'))));
    if (!first) continue;
    if (dash == std::string_view::npos && gpu == *first) return true;
    if (dash == std::string_view::npos || gpu < *first) continue;
    const auto last = capability(part.substr(dash + 1));
    if (!last || gpu <= *last) return true;
  }
  return false;
}

bool matches(std::string_view pattern, std::string_view path) {
  // Backtracks to the last star alone, so that no path takes long.
  std::size_t p = 0, t = 0, star = std::string_view::npos, from = 0;
  while (t < path.size()) {
    if (p < pattern.size() && pattern[p] == '*') {
      star = p++;
      from = t;
    } else if (p < pattern.size() && pattern[p] == path[t]) {
      ++p;
      ++t;
    } else if (star != std::string_view::npos) {
      p = star + 1;
      t = ++from;
    } else {
      return false;
    }
  }
  while (p < pattern.size() && pattern[p] == '*') ++p;
  return p == pattern.size();
}

std::string star_of(std::string_view pattern, std::string_view path) {
  const std::size_t star = pattern.find('*');
  if (star == std::string_view::npos || !matches(pattern, path)) return "";
  return std::string(path.substr(star, path.size() + 1 - pattern.size()));
}

}  // namespace flashfit::doctor
