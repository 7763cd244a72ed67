#include "doctor/packaging/requirement.hpp"

#include <fmt/format.h>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor {

Result<Requirement> parse_requirement(std::string_view given) {
  const auto refuse = [&](std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("requirement '{}': {}", printable(given), why));
  };
  Requirement r;
  std::string_view text = trimmed(given);
  std::size_t end = 0;
  while (end < text.size() && (is_alnum(text[end]) || text[end] == '-' || text[end] == '_' || text[end] == '.')) ++end;
  if (end == 0 || !is_alnum(text[0]) || !is_alnum(text[end - 1])) return refuse("does not start with a project's name");
  r.name = normalised_name(text.substr(0, end));
  text = trimmed(text.substr(end));

  if (text.starts_with('[')) {
    const std::size_t close = text.find(']');
    if (close == std::string_view::npos) return refuse("'[' is never closed");
    for (const std::string_view extra : split(text.substr(1, close - 1), ','))
      if (!trimmed(extra).empty()) r.extras.push_back(normalised_name(trimmed(extra)));
    text = trimmed(text.substr(close + 1));
  }
  if (text.starts_with('@')) {
    // An address may hold ';': only one behind a space opens a marker.
    const std::string_view rest = trimmed(text.substr(1));
    const std::size_t marker = rest.find(" ;");
    r.url = trimmed(rest.substr(0, marker));
    if (marker != std::string_view::npos) r.marker = trimmed(rest.substr(marker + 2));
    return r;
  }
  if (const std::size_t marker = text.find(';'); marker != std::string_view::npos) {
    r.marker = trimmed(text.substr(marker + 1));
    text = trimmed(text.substr(0, marker));
  }
  // Older tools put the versions into parentheses.
  if (text.starts_with('(') && text.ends_with(')')) text = trimmed(text.substr(1, text.size() - 2));
  auto versions = parse_specifiers(text);
  if (!versions) return tl::unexpected(versions.error());
  r.versions = std::move(*versions);
  return r;
}

}  // namespace flashfit::doctor
