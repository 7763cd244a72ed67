#pragma once
// Texts as Windows writes them: with a mark of their encoding at the beginning, and in UTF-16 what PowerShell's >
// makes.
#include <string>
#include <string_view>

namespace flashfit::doctor {

/// Whether the bytes begin with the mark of UTF-8 or UTF-16 (Unicode, "Byte Order Mark").
bool has_encoding_mark(std::string_view bytes);

/// Whether all bytes are characters of UTF-8 (core/base/utf8.hpp).
bool is_utf8(std::string_view bytes);

/// The text in UTF-8 and without the mark; bytes without a mark as they are. Halves of pairs that have no other half
/// become U+FFFD, and a last odd byte is left out.
std::string as_utf8(std::string_view bytes);

}  // namespace flashfit::doctor
