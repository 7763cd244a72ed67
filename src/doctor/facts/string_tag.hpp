#pragma once
// Functions that return a std::string: in GCC's new C++ ABI the tag "B5cxx11" stands in their mangled names, in the old
// one nothing (GCC, "Dual ABI"; Itanium C++ ABI, <abi-tags>).
#include <string>
#include <string_view>

namespace flashfit::doctor {

/// The name of the same function in the other ABI, were it to return a std::string: with the tag behind its last name,
/// or without it. "" where the name is no plain one of functions: templates, constructors, operators.
std::string other_tag_of(std::string_view mangled);

/// Whether it is a name of the old ABI by a table of PyTorch's functions that return a std::string and that extensions
/// call.
bool is_untagged_string_function(std::string_view mangled);

}  // namespace flashfit::doctor
