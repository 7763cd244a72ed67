#include "doctor/requests/variables.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::requests {
namespace {

std::size_t name_length(std::string_view text) {
  std::size_t n = 0;
  while (n < text.size() && (text[n] == '_' || is_letter(text[n]) || (n > 0 && is_digit(text[n])))) ++n;
  return n;
}

struct Use {
  std::string_view name;
  char how = 0;  ///< '-' or '+' where a word stands behind the name
  std::string_view word;
  std::size_t size = 0;  ///< of the whole, with '$'; 0: no variable
};

Use use_at(std::string_view text) {
  Use use;
  if (text.size() < 2 || text[0] != '$') return use;
  if (text[1] != '{') {
    use.name = text.substr(1, name_length(text.substr(1)));
    use.size = use.name.empty() ? 0 : use.name.size() + 1;
    return use;
  }
  const std::size_t end = text.find('}');
  if (end == std::string_view::npos) return use;
  std::string_view inner = text.substr(2, end - 2);
  use.name = inner.substr(0, name_length(inner));
  inner.remove_prefix(use.name.size());
  if (inner.starts_with(':')) inner.remove_prefix(1);
  if (!inner.empty()) {
    use.how = inner[0];
    use.word = inner.substr(1);
  }
  const bool sound = !use.name.empty() && (use.how == 0 || use.how == '-' || use.how == '+');
  use.size = sound ? end + 1 : 0;
  return use;
}

}  // namespace

std::string expanded(std::string_view text, const Variables& variables, std::string* unknown) {
  std::string out;
  while (!text.empty() && out.size() < kLongestExpansion) {
    if (text[0] == '\\' && text.size() > 1 && text[1] == '$') {
      out += '$';
      text.remove_prefix(2);
      continue;
    }
    const Use use = use_at(text);
    if (use.size == 0) {
      out += text[0];
      text.remove_prefix(1);
      continue;
    }
    const auto found = variables.find(use.name);
    const bool set = found != variables.end() && !found->second.empty();
    if (use.how == '+') {
      if (set) out += use.word;
    } else if (found != variables.end() && (set || use.how == 0)) {
      out += found->second;
    } else if (use.how == '-') {
      out += use.word;
    } else {
      if (unknown != nullptr && unknown->empty()) *unknown = use.name;
      out += text.substr(0, use.size);
    }
    text.remove_prefix(use.size);
  }
  out.resize(std::min(out.size(), kLongestExpansion));
  return out;
}

}  // namespace flashfit::doctor::requests
