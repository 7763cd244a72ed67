#pragma once
// The doctor's codes as docs/doctor has them: made of its pages by the build.
#include <string>
#include <string_view>

namespace flashfit::cli {

/// "No image for the GPU" for FF101; the code itself where there is no page.
std::string title_of_code(std::string_view code);
/// The address of its page; "" where this build does not know where its pages are published.
std::string uri_of_code(std::string_view code);

}  // namespace flashfit::cli
