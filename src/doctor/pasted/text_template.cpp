#include "doctor/pasted/text_template.hpp"

#include <optional>

#include "core/base/ascii.hpp"
#include "core/base/readable.hpp"

namespace flashfit::doctor::pasted {
namespace {

constexpr std::size_t kLongestField = 300;

/// Nothing if a field is not known and `all` are wanted.
std::optional<std::string> with_fields(std::string_view text, const Fields& fields, bool all) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('{');
    out += text.substr(0, open);
    if (open == std::string_view::npos) return out;
    const std::size_t close = text.find('}', open);
    const auto field = fields.find(text.substr(open + 1, close - open - 1));
    if (field != fields.end()) {
      out += readable(field->second, kLongestField);
    } else if (all) {
      return std::nullopt;
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace

std::string filled(std::string_view text, const Fields& fields) {
  std::string out;
  while (true) {
    const std::size_t open = text.find('[');
    out += *with_fields(text.substr(0, open), fields, false);
    if (open == std::string_view::npos) return out;
    if (text.substr(open).starts_with("[[")) {
      const std::size_t end = text.find("]]", open);
      out += text.substr(open + 1, end - open);
      text.remove_prefix(end + 2);
      continue;
    }
    const std::size_t close = text.find(']', open);
    for (const std::string_view alternative : split(text.substr(open + 1, close - open - 1), '|')) {
      if (const auto whole = with_fields(alternative, fields, true)) {
        out += *whole;
        break;
      }
    }
    text.remove_prefix(close + 1);
  }
}

}  // namespace flashfit::doctor::pasted
