#include "doctor/requests/docker_lines.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "doctor/bytes/json.hpp"
#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor::requests {
namespace {

/// The escape that the first lines of comments set.
char escape_of(std::string_view text) {
  while (!text.empty()) {
    const std::size_t end = text.find('\n');
    std::string_view line = trimmed(text.substr(0, end));
    if (!line.starts_with('#')) return '\\';
    line = trimmed(line.substr(1));
    if (const std::size_t equals = line.find('=');
        equals != std::string_view::npos && lower(trimmed(line.substr(0, equals))) == "escape")
      return trimmed(line.substr(equals + 1)) == "`" ? '`' : '\\';
    if (end == std::string_view::npos) return '\\';
    text.remove_prefix(end + 1);
  }
  return '\\';
}

/// The delimiter of "<<EOF", "<<-'EOF'" in a line of RUN or COPY; "" if there is none.
std::string here_document(std::string_view line) {
  const std::string instruction = lower(trimmed(line).substr(0, 4));
  if (instruction != "run " && instruction != "copy" && instruction != "add ") return "";
  const std::size_t at = line.find("<<");
  if (at == std::string_view::npos || line.substr(at, 3) == "<<<") return "";
  std::string_view rest = line.substr(at + 2);
  if (rest.starts_with('-')) rest.remove_prefix(1);
  const char quote = rest.empty() ? ' ' : rest[0];
  if (quote == '"' || quote == '\'') rest.remove_prefix(1);
  std::size_t n = 0;
  while (n < rest.size() && (is_alnum(rest[n]) || rest[n] == '_')) ++n;
  return std::string(rest.substr(0, n));
}

tl::unexpected<Error> too_long() {
  return fail(Code::kInvalidArgument, fmt::format("a here-document longer than {} KB", kLongestLine >> 10));
}

}  // namespace

Result<std::vector<LogicalLine>> docker_lines(std::string_view text) {
  const char escape = escape_of(text);
  // A here-document's lines lie apart from the joined ones; they are put behind their instruction's text.
  std::vector<LogicalLine> documents;
  std::string outside;
  std::string until;
  std::uint32_t number = 0, opened = 0;
  if (text.size() > limits::kListBytes.most) return logical_lines(text, Joining::kDocker);
  for (std::string_view rest = text; !rest.empty();) {
    ++number;
    const std::size_t end = rest.find('\n');
    const std::string_view line = rest.substr(0, end);
    rest.remove_prefix(end == std::string_view::npos ? rest.size() : end + 1);
    if (until.empty()) {
      outside += line;
      until = here_document(line);
      opened = number;
      if (!until.empty()) documents.push_back({.text = "", .starts = {{0, opened}}});
    } else if (trimmed(line) == until) {
      until.clear();
    } else {
      LogicalLine& document = documents.back();
      document.starts.push_back({document.text.size() + 1, number});
      document.text += '\n';
      document.text += line;
      if (document.text.size() > kLongestLine) return too_long();
    }
    outside += '\n';
  }
  auto lines = logical_lines(outside, Joining::kDocker, escape);
  if (!lines) return lines;
  auto owner = lines->begin();  // both are in order
  for (const LogicalLine& document : documents) {
    while (owner != lines->end() && owner->starts.back().line < document.line()) ++owner;
    if (owner == lines->end()) break;
    for (std::size_t i = 1; i < document.starts.size(); ++i)
      owner->starts.push_back({owner->text.size() + document.starts[i].offset, document.starts[i].line});
    owner->text += document.text;
    if (owner->text.size() > kLongestLine) return too_long();
  }
  return lines;
}

std::vector<Command> run_commands(const LogicalLine& line, std::size_t from) {
  std::size_t at = std::min(line.text.find_first_not_of(" \t", from), line.text.size());
  while (line.text.compare(at, 2, "--") == 0) {
    at = std::min(line.text.find_first_of(" \t", at), line.text.size());
    at = std::min(line.text.find_first_not_of(" \t", at), line.text.size());
  }
  if (at < line.text.size() && line.text[at] == '[') {
    const auto words = doctor::parse_json(line.text.substr(at)).value_or(nlohmann::json());
    Command command;
    for (const auto& word : words.is_array() ? words : nlohmann::json::array())
      if (word.is_string()) command.push_back({word.get<std::string>(), line.line()});
    if (!command.empty()) return {command};
  }
  return shell_commands(line, at);
}

}  // namespace flashfit::doctor::requests
