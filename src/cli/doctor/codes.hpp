#pragma once
// The doctor's codes as docs/doctor has them: made of its pages by the build.
#include <string>
#include <string_view>

namespace flashfit::cli {

/// "No image for the GPU" for FF101; the code itself where there is no page.
std::string title_of_code(std::string_view code);
/// Its page, in Markdown; "" where there is none.
std::string_view page_of_code(std::string_view code);
/// Whether a word is written as a code is: "FF810".
bool looks_like_code(std::string_view word);
/// The address of its page; "" where this build does not know where its pages are published.
std::string uri_of_code(std::string_view code);

}  // namespace flashfit::cli
