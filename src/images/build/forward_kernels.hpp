#pragma once
// The rows of the forward as kernels to make images of.
#include <filesystem>
#include <string>
#include <vector>

#include "attention/variants.hpp"
#include "images/build/recipe.hpp"

namespace flashfit {

Kernel kernel_of(const ForwardVariant& variant);

/// One recipe for each row and target of the table whose target is of one of these compute capabilities (decimal).
/// `source_dir` is src/; `nvrtc` identifies the compiler. Error: an #include "..." that cannot be read.
Result<std::vector<Recipe>> forward_recipes(const std::vector<int>& ccs, const std::filesystem::path& source_dir,
                                            const std::string& nvrtc);

}  // namespace flashfit
