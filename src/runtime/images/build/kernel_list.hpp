#pragma once
// A list of kernels to make images of, for kernels that are not of the variant table: tests' and users' own.
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "runtime/images/build/recipe.hpp"

namespace flashfit {

/// Reads a list of lines "NAME | HEADER | KERNEL | TARGET, TARGET ..."; "#" begins a comment. A target is "9.0", "9.0a"
/// (for 9.0 alone, with its own instructions), "10.0f" or "8.0+PTX". `folders` are where headers are looked for;
/// `nvrtc` identifies the compiler. Errors name file and line.
Result<std::vector<Recipe>> read_kernel_list(const std::filesystem::path& list,
                                             const std::vector<std::filesystem::path>& folders,
                                             const std::string& nvrtc);

}  // namespace flashfit
