#pragma once
// Reports are passed on: what a page must not hold of a pasted text, a list or a path.
#include <string>
#include <string_view>

namespace flashfit::cli {

/// `text` without credentials in addresses ("https://***@host"), tokens (by what their makers begin them with, by the
/// name before them: "HF_TOKEN=***", and behind "Bearer") and the user's name in home folders ("/home/ada/x" is "~/x").
/// What is neither stays, byte for byte. No list of tokens is whole: who passes a page on reads it first.
std::string redacted(std::string_view text);

}  // namespace flashfit::cli
