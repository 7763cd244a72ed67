#pragma once
// The library's JSON documents as the command prints them for --json.
#include <string>

namespace flashfit::cli {

/// The same document, a value a line, indented by two. `json` is a document of JsonText.
std::string indented(const std::string& json);

}  // namespace flashfit::cli
