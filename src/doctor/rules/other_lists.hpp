#pragma once
// Files that name packages and that the doctor does not read, and what to give it instead.
#include <string>
#include <string_view>

namespace flashfit::doctor {

/// "uv's lock is not read: `uv export --format pylock.toml -o pylock.toml` writes a list that is"; "" of other names.
std::string instead_of(std::string_view file_name);

}  // namespace flashfit::doctor
