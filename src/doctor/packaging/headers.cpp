#include "doctor/packaging/headers.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

bool is_key(std::string_view key) {
  return !key.empty() &&
         std::all_of(key.begin(), key.end(), [](char c) { return is_alnum(c) || c == '-' || c == '_'; });
}

}  // namespace

Result<std::vector<Header>> parse_headers(std::string_view text) {
  const auto malformed = [](std::string_view what, std::size_t at) {
    return fail(Code::kInvalidArgument, fmt::format("malformed: {} at {}", what, at));
  };
  std::vector<Header> headers;
  std::size_t at = text.starts_with("\xef\xbb\xbf") ? 3 : 0;  // a byte-order mark that some editors write
  while (at < text.size()) {
    const std::size_t end = std::min(text.find('\n', at), text.size());
    std::string_view line = text.substr(at, end - at);
    if (line.ends_with('\r')) line.remove_suffix(1);
    if (line.empty()) break;
    if (end > kLargestHeaders) return malformed(fmt::format("headers of more than {} bytes", kLargestHeaders), at);
    if (line.find('\0') != std::string_view::npos) return malformed("a zero byte in a header", at);
    if (line[0] == ' ' || line[0] == '\t') {
      if (headers.empty()) return malformed("a continued line before any header", at);
      headers.back().value.append(" ").append(trimmed(line));
    } else {
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos || !is_key(line.substr(0, colon)))
        return malformed("a line that is no header", at);
      if (headers.size() == kMostHeaders) return malformed(fmt::format("more than {} headers", kMostHeaders), at);
      headers.push_back({lower(line.substr(0, colon)), std::string(trimmed(line.substr(colon + 1)))});
    }
    at = end + 1;
  }
  return headers;
}

}  // namespace flashfit::doctor
