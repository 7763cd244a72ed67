#pragma once
// Quoted words of untrusted text for people whose language is not English: Windows and Python speak theirs.
#include <array>
#include <cstddef>
#include <string>
#include <string_view>

#include "core/base/printable.hpp"
#include "core/base/utf8.hpp"

namespace flashfit {
namespace readable_detail {

struct Range {
  char32_t first, last;
};
/// Letters and signs that stand for themselves: none combines with what is before it, has no width, or turns the
/// direction of a line. Source: Unicode, "Blocks" and General_Category.
inline constexpr std::array<Range, 14> kRanges = {{
    {0xa1, 0xac},      // Latin-1, without the soft hyphen
    {0xae, 0x24f},     // Latin
    {0x370, 0x482},    // Greek, Cyrillic
    {0x48a, 0x52f},    // Cyrillic, behind its combining marks
    {0x2013, 0x2014},  // dashes
    {0x2018, 0x201e},  // quotation marks
    {0x2026, 0x2026},  // an ellipsis
    {0x2500, 0x257f},  // frames that programs draw
    {0x25a0, 0x25ff},  // arrows' heads and squares in them
    {0x3001, 0x3011},  // Chinese and Japanese punctuation
    {0x3041, 0x3096},  // Hiragana
    {0x30a1, 0x30ff},  // Katakana
    {0x4e00, 0x9fff},  // Chinese characters
    {0xac00, 0xd7a3},  // Hangul
}};

inline bool stands_for_itself(Character character) {
  for (const Range& range : kRanges)
    if (range.first <= character.point && character.point <= range.last) return true;
  return false;
}

}  // namespace readable_detail

/// `text` as printable() has it, but with the letters of European languages, Chinese, Japanese and Korean in UTF-8 as
/// they are; cut to `limit` bytes of input, at a character, with "..." behind.
inline std::string readable(std::string_view text, std::size_t limit = 120) {
  std::string out;
  std::size_t at = 0;
  while (at < text.size()) {
    const Character character = first_character(text.substr(at));
    const std::size_t size = readable_detail::stands_for_itself(character) ? character.size : 1;
    if (at + size > limit) return out + "...";
    out += size == 1 ? printable(text.substr(at, 1)) : std::string(text.substr(at, size));
    at += size;
  }
  return out;
}

}  // namespace flashfit
