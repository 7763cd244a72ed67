#pragma once
// Text out of untrusted files, made safe to print.
#include <cstddef>
#include <string>
#include <string_view>

namespace flashfit::inspect {

/// `text` with every byte that is not printable ASCII as \xNN (control characters move cursors, and other alphabets
/// hold characters that reverse or hide a line), cut to `limit` bytes of input with "..." behind.
std::string printable(std::string_view text, std::size_t limit = 120);

}  // namespace flashfit::inspect
