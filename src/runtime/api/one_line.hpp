#pragma once
// Messages are one line, whatever the caller's own strings and the driver's hold.
#include <cstddef>
#include <string_view>

namespace flashfit::api {

/// Copies `message` with its control characters as \xNN to `to`, which holds `capacity` bytes, cut where it is longer;
/// ends it with NUL and returns its length.
inline std::size_t write_one_line(std::string_view message, char* to, std::size_t capacity) noexcept {
  constexpr char kDigits[] = "0123456789abcdef";
  std::size_t length = 0;
  for (const char c : message) {
    const auto byte = static_cast<unsigned char>(c);
    const char escaped[] = {'\\', 'x', kDigits[byte >> 4], kDigits[byte & 15]};
    const std::string_view shown = byte < 0x20 || byte == 0x7f ? std::string_view(escaped, 4) : std::string_view(&c, 1);
    if (length + shown.size() >= capacity) break;
    length += shown.copy(to + length, shown.size());
  }
  to[length] = '\0';
  return length;
}

}  // namespace flashfit::api
