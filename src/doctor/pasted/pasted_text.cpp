#include "doctor/pasted/pasted_text.hpp"

#include <algorithm>

namespace flashfit::doctor::pasted {
namespace {

constexpr char kEscape = '\x1b', kBell = '\a';

/// Past the escape sequence that begins at `at` (ECMA-48: CSI ends with @ to ~, OSC with BEL or ESC \).
std::size_t past_escape(std::string_view line, std::size_t at) {
  ++at;
  if (at == line.size()) return at;
  const char kind = line[at++];
  if (kind == '[') {
    while (at < line.size() && (line[at] < '@' || line[at] > '~')) ++at;
    return std::min(at + 1, line.size());
  }
  if (kind != ']') return at;
  while (at < line.size() && line[at] != kBell && line[at] != kEscape) ++at;
  if (at < line.size() && line[at] == kEscape) ++at;
  return std::min(at + 1, line.size());
}

std::string cleaned(std::string_view raw, std::size_t& cut_lines) {
  if (raw.size() > kLongestLine) {
    raw = raw.substr(0, kLongestLine);
    ++cut_lines;
  }
  const std::string plain = without_escapes(raw);
  std::string text(without_prefixes(plain));
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.pop_back();
  return text;
}

}  // namespace

std::string without_escapes(std::string_view line) {
  while (!line.empty() && line.back() == '\r') line.remove_suffix(1);
  // A progress bar writes its line again and again.
  if (const std::size_t last = line.rfind('\r'); last != std::string_view::npos) line.remove_prefix(last + 1);
  std::string out;
  out.reserve(line.size());
  for (std::size_t at = 0; at < line.size();) {
    if (line[at] == kEscape) {
      at = past_escape(line, at);
    } else {
      if (line[at] != '\0') out += line[at];
      ++at;
    }
  }
  return out;
}

PastedText read_pasted(std::string_view text) {
  PastedText pasted;
  if (text.size() > kLongestText) {
    pasted.left_out = text.size() - kLongestText;
    // Not in the middle of a line, if lines there are.
    const std::size_t end = text.find('\n', pasted.left_out);
    if (end != std::string_view::npos && end - pasted.left_out < kLongestLine) pasted.left_out = end + 1;
  }
  const auto count = [&](std::size_t from, std::size_t to) {
    return static_cast<std::size_t>(std::count(text.begin() + static_cast<std::ptrdiff_t>(from),
                                               text.begin() + static_cast<std::ptrdiff_t>(to), '\n'));
  };
  std::size_t number = 1 + count(0, pasted.left_out);
  for (std::size_t lines = count(pasted.left_out, text.size()); lines > kMostLines; --lines) {
    pasted.left_out = text.find('\n', pasted.left_out) + 1;
    ++number;
  }
  for (std::size_t at = pasted.left_out; at < text.size(); ++number) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string line = cleaned(text.substr(at, end - at), pasted.cut_lines);
    if (!line.empty()) pasted.lines.push_back({number, std::move(line)});
    at = end + 1;
  }
  return pasted;
}

}  // namespace flashfit::doctor::pasted
