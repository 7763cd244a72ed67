#include "doctor/bytes/encoding.hpp"

#include "core/base/utf8.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::string_view kUtf8 = "\xef\xbb\xbf", kLittleEndian = "\xff\xfe", kBigEndian = "\xfe\xff";
constexpr char32_t kFirstHalf = 0xd800, kSecondHalf = 0xdc00, kBehindHalves = 0xe000, kReplacement = 0xfffd;

void append(char32_t point, std::string& out) {
  const auto add = [&](char32_t bits) { out += static_cast<char>(static_cast<unsigned char>(bits)); };
  const auto goes_on = [&](int shift) { add(0x80U | (point >> shift & 0x3fU)); };
  if (point < 0x80) return add(point);
  if (point < 0x800) {
    add(0xc0U | point >> 6);
    return goes_on(0);
  }
  if (point < 0x10000) {
    add(0xe0U | point >> 12);
  } else {
    add(0xf0U | point >> 18);
    goes_on(12);
  }
  goes_on(6);
  goes_on(0);
}

std::string from_utf16(std::string_view bytes, bool big) {
  std::string out;
  out.reserve(bytes.size());
  const auto unit = [&](std::size_t at) {
    const auto first = static_cast<unsigned char>(bytes[at]), second = static_cast<unsigned char>(bytes[at + 1]);
    return static_cast<char32_t>(big ? first << 8 | second : second << 8 | first);
  };
  for (std::size_t at = 0; at + 1 < bytes.size(); at += 2) {
    char32_t point = unit(at);
    if (point >= kFirstHalf && point < kBehindHalves) {
      const char32_t next = point < kSecondHalf && at + 3 < bytes.size() ? unit(at + 2) : 0;
      const bool pair = next >= kSecondHalf && next < kBehindHalves;
      point = pair ? 0x10000 + ((point - kFirstHalf) << 10) + (next - kSecondHalf) : kReplacement;
      if (pair) at += 2;
    }
    append(point, out);
  }
  return out;
}

}  // namespace

bool has_encoding_mark(std::string_view bytes) {
  return bytes.starts_with(kUtf8) || bytes.starts_with(kLittleEndian) || bytes.starts_with(kBigEndian);
}

bool is_utf8(std::string_view bytes) {
  while (!bytes.empty()) {
    const std::size_t size = first_character(bytes).size;
    if (size == 0) return false;
    bytes.remove_prefix(size);
  }
  return true;
}

std::string as_utf8(std::string_view bytes) {
  if (bytes.starts_with(kUtf8)) return std::string(bytes.substr(kUtf8.size()));
  const bool big = bytes.starts_with(kBigEndian);
  if (!big && !bytes.starts_with(kLittleEndian)) return std::string(bytes);
  return from_utf16(bytes.substr(2), big);
}

}  // namespace flashfit::doctor
