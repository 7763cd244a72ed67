#include "doctor/packaging/wheel_name.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"

namespace flashfit::doctor {
namespace {

bool is_name(std::string_view text) {
  return !text.empty() && text.find("__") == std::string_view::npos &&
         std::all_of(text.begin(), text.end(), [](char c) { return is_alnum(c) || c == '_' || c == '.'; });
}

}  // namespace

std::string with_plus(std::string_view name) {
  std::string out;
  for (std::size_t i = 0; i < name.size(); ++i) {
    const bool plus = lower(name.substr(i, 3)) == "%2b";
    out += plus ? '+' : name[i];
    if (plus) i += 2;
  }
  return out;
}

std::string normalised_name(std::string_view name) {
  std::string out;
  for (const char c : name) {
    const bool separator = c == '-' || c == '_' || c == '.';
    if (!separator) {
      out += to_lower(c);
    } else if (out.empty() || out.back() != '-') {
      out += '-';
    }
  }
  return out;
}

std::string underscored(std::string name) {
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
}

Result<WheelName> parse_wheel_name(std::string_view file_name) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("wheel name '{}': {}", printable(file_name), why));
  };
  if (file_name.size() > kLongestWheelName) return refuse(fmt::format("longer than {} characters", kLongestWheelName));
  if (!file_name.ends_with(".whl")) return refuse("does not end in .whl");
  const std::string stem = with_plus(file_name.substr(0, file_name.size() - 4));
  const auto parts = split(stem, '-');
  if (parts.size() != 5 && parts.size() != 6)
    return refuse(fmt::format("has {} between dashes; accepted: name-version[-build]-python-abi-platform.whl",
                              parts.size() == 1 ? "1 part" : fmt::format("{} parts", parts.size())));
  if (!is_name(parts[0])) return refuse("the project's name must be letters, digits, '.' and single '_'");

  WheelName wheel{.name = normalised_name(parts[0])};
  auto version = parse_version(parts[1]);
  if (!version) return refuse(version.error().message);
  wheel.version = std::move(*version);
  if (parts.size() == 6) {
    if (parts[2].empty() || !is_digit(parts[2][0])) return refuse("a build number starts with a digit");
    wheel.build = parts[2];
  }
  const std::size_t tags_at =
      stem.size() - (parts[parts.size() - 3].size() + parts[parts.size() - 2].size() + parts.back().size() + 2);
  auto tags = parse_tags(std::string_view(stem).substr(tags_at));
  if (!tags) return refuse(tags.error().message);
  wheel.tags = std::move(*tags);
  return wheel;
}

}  // namespace flashfit::doctor
