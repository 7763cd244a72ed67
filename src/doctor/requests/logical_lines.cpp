#include "doctor/requests/logical_lines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "core/base/ascii.hpp"
#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor::requests {
namespace {

bool is_comment(std::string_view line) { return trimmed(line).starts_with('#'); }

/// pip's comments: '#' at the start or behind a space.
std::string_view without_comment(std::string_view line) {
  for (std::size_t at = line.find('#'); at != std::string_view::npos; at = line.find('#', at + 1))
    if (at == 0 || is_space(line[at - 1])) return line.substr(0, at);
  return line;
}

}  // namespace

std::uint32_t LogicalLine::line_at(std::size_t offset) const {
  const auto behind = std::upper_bound(starts.begin(), starts.end(), offset,
                                       [](std::size_t at, const Start& start) { return at < start.offset; });
  return behind == starts.begin() ? line() : std::prev(behind)->line;
}

Result<std::vector<LogicalLine>> logical_lines(std::string_view text, Joining joining, char escape) {
  const auto refuse = [](std::size_t line, std::string_view why) {
    return fail(Code::kInvalidArgument, fmt::format("line {}: {}", line, why));
  };
  if (text.size() > limits::kListBytes.most)
    return fail(Code::kInvalidArgument, fmt::format("larger than {} MB", limits::kListBytes.most >> 20));
  if (text.starts_with("\xef\xbb\xbf")) text.remove_prefix(3);

  std::vector<LogicalLine> lines;
  LogicalLine open;
  bool joins = false;  // the line before ended in a backslash
  const auto close = [&] {
    if (joining == Joining::kPip) open.text.resize(without_comment(open.text).size());
    if (!trimmed(open.text).empty()) lines.push_back(std::move(open));
    open = {};
    joins = false;
  };
  for (std::uint32_t number = 1; !text.empty(); ++number) {
    const std::size_t end = text.find('\n');
    std::string_view line = text.substr(0, end);
    text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.find('\0') != std::string_view::npos) return refuse(number, "holds a byte 0: the text must be UTF-8");
    if (open.text.size() + line.size() > kLongestLine)
      return refuse(number, fmt::format("longer than {} KB", kLongestLine >> 10));
    const bool comment = is_comment(line);
    if (comment && joining == Joining::kDocker) continue;
    if (comment) {
      close();
      continue;
    }
    if (joins && joining == Joining::kDocker && trimmed(line).empty()) continue;
    // Docker takes space behind the backslash, pip does not.
    std::string_view body = line;
    while (joining == Joining::kDocker && !body.empty() && is_space(body.back())) body.remove_suffix(1);
    joins = body.ends_with(escape);
    if (joins) body.remove_suffix(1);
    open.starts.push_back({open.text.size(), number});
    open.text += joins ? body : line;
    if (!joins) close();
  }
  close();
  return lines;
}

}  // namespace flashfit::doctor::requests
