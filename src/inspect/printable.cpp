#include "inspect/printable.hpp"

namespace flashfit::inspect {

std::string printable(std::string_view text, std::size_t limit) {
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

}  // namespace flashfit::inspect
