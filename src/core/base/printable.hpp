#pragma once
// Text out of untrusted files, made safe to print.
#include <cstddef>
#include <string>
#include <string_view>

namespace flashfit {

/// `text` with every byte that is not printable ASCII as \xNN (control characters move cursors, and other alphabets
/// hold characters that reverse or hide a line), cut to `limit` bytes of input with "..." behind.
inline std::string printable(std::string_view text, std::size_t limit = 120) {
  constexpr char kDigits[] = "0123456789abcdef";
  std::string out;
  for (const char c : text.substr(0, limit)) {
    const auto byte = static_cast<unsigned char>(c);
    if (byte >= 0x20 && byte < 0x7f) {
      out += c;
    } else {
      out += "\\x";
      out += kDigits[byte >> 4];
      out += kDigits[byte & 15];
    }
  }
  return text.size() > limit ? out + "..." : out;
}

}  // namespace flashfit
