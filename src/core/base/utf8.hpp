#pragma once
// Characters of a text in UTF-8.
#include <array>
#include <cstddef>
#include <string_view>

namespace flashfit {

struct Character {
  char32_t point = 0;
  std::size_t size = 0;  ///< in bytes; 0: the text does not begin with a whole character
};

/// The first character of a text that is not empty. As Python decodes it, there is none in an overlong form, a half of
/// a pair or a number beyond U+10FFFF.
constexpr Character first_character(std::string_view text) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(text[i]); };
  const char32_t first = byte(0);
  if (first < 0x80) return {first, 1};
  if (first < 0xc2 || first > 0xf4) return {};
  const std::size_t size = first >= 0xf0 ? 4 : first >= 0xe0 ? 3 : 2;
  char32_t point = first & (0x7fU >> size);
  for (std::size_t i = 1; i < size; ++i) {
    if (i == text.size() || (byte(i) & 0xc0U) != 0x80) return {};
    point = point << 6 | (byte(i) & 0x3fU);
  }
  constexpr std::array<char32_t, 5> kLeast = {0, 0, 0x80, 0x800, 0x10000};
  const bool is_half = point >= 0xd800 && point < 0xe000;
  if (point < kLeast[size] || point > 0x10ffff || is_half) return {};
  return {point, size};
}

}  // namespace flashfit
