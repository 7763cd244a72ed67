#pragma once
// C++ names as people know them.
#include <string>
#include <string_view>

namespace flashfit::doctor {

/// "_ZN3c105ErrorC1Ev" -> "c10::Error::Error()"; printable, cut to `limit` characters. What is no mangled name, or
/// could unfold beyond reason (names refer to their own parts, so that each ten characters can double the whole), stays
/// as it is.
std::string demangled(std::string_view name, std::size_t limit = 200);

}  // namespace flashfit::doctor
