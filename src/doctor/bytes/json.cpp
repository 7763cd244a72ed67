#include "doctor/bytes/json.hpp"

#include <fmt/format.h>

#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor {
namespace {

/// The offset of the bracket that is nested too deeply; npos: none is. Texts in quotes have no brackets.
std::size_t too_deep(std::string_view text) {
  std::uint64_t depth = 0;
  bool quoted = false;
  for (std::size_t at = 0; at < text.size(); ++at) {
    const char c = text[at];
    if (c == '"') {
      quoted = !quoted;
    } else if (quoted) {
      if (c == '\\') ++at;
    } else if (c == '[' || c == '{') {
      if (++depth > limits::kNesting.most) return at;
    } else if ((c == ']' || c == '}') && depth > 0) {
      --depth;
    }
  }
  return std::string_view::npos;
}

}  // namespace

Result<nlohmann::json> parse_json(std::string_view text) {
  if (const std::size_t at = too_deep(text); at != std::string_view::npos)
    return fail(Code::kInvalidArgument,
                fmt::format("{} beyond the limit of {} at {}", limits::kNesting.what, limits::kNesting.most, at));
  auto json = nlohmann::json::parse(text, nullptr, false);
  if (json.is_discarded()) return fail(Code::kInvalidArgument, "no JSON");
  return json;
}

}  // namespace flashfit::doctor
