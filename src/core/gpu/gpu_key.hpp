#pragma once
// Names of GPUs as people and drivers write them, brought to one form.
#include <cstddef>
#include <string>
#include <string_view>

namespace flashfit {

/// Lower case without spaces, dashes and the words that name the maker, the board or the product line:
/// "NVIDIA A100-SXM4-80GB" -> "a10080gb", or without memory sizes "a100".
std::string gpu_key(std::string_view name, bool drop_memory_size);

/// Levenshtein's distance, for "did you mean".
std::size_t edit_distance(std::string_view a, std::string_view b);

}  // namespace flashfit
