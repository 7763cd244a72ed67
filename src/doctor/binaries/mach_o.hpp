#pragma once
// Programs and libraries of macOS, which has no CUDA: whose they are is all that is read of them.
#include <optional>
#include <string_view>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

/// By its first four bytes, which Java's classes have as well.
bool is_mach_o(Bytes start);

/// "x86_64", "arm64", "universal2" where it is for both, else "another machine"; nothing if it is no such file.
/// `start`: its first bytes.
std::optional<std::string_view> mach_o_machine(Bytes start);

}  // namespace flashfit::doctor
