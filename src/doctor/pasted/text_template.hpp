#pragma once
// Sentences of the tables with their {fields} filled in.
#include <string>
#include <string_view>

#include "doctor/pasted/regex.hpp"

namespace flashfit::doctor::pasted {

/// `{name}` becomes the field, made printable; "" if it is not known. Of `[a|b|c]` the first alternative stays whose
/// fields are all known, or none. Brackets do not nest; `[[a]]` is "[a]" itself.
std::string filled(std::string_view text, const Fields& fields);

}  // namespace flashfit::doctor::pasted
