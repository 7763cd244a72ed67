#include "doctor/requests/requirements_file.hpp"

#include <algorithm>

#include "core/base/ascii.hpp"
#include "doctor/requests/pip_words.hpp"

namespace flashfit::doctor::requests {
namespace {

/// Where options begin: at the first word with a '-' before it.
std::size_t options_at(std::string_view text) {
  for (std::size_t at = 0; at < text.size(); ++at)
    if (text[at] == '-' && (at == 0 || is_space(text[at - 1])) && at + 1 < text.size() &&
        (text[at + 1] == '-' || is_letter(text[at + 1])))
      return at;
  return text.size();
}

}  // namespace

RequestList read_requirements(std::string_view text) {
  RequestList list;
  const auto lines = logical_lines(text, Joining::kPip);
  if (!lines) {
    list.troubles.push_back({0, lines.error().message});
    return list;
  }
  for (const LogicalLine& line : *lines) {
    const std::size_t options = options_at(line.text);
    const std::size_t begin = std::min(line.text.find_first_not_of(" \t"), line.text.size());
    take_requirement(std::string_view(line.text).substr(0, options), line.line_at(begin), list);
    take_pip_words(plain_words(line, options), WrittenIn::kFile, list);
  }
  return list;
}

}  // namespace flashfit::doctor::requests
