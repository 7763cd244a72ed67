#pragma once
// The variants of the catalogue as kernels to make images of.
#include <filesystem>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/launch/kernel_variant.hpp"
#include "runtime/images/build/recipe.hpp"

namespace flashfit {

Kernel kernel_of(const KernelVariant& variant);

/// One recipe for each variant and target of the catalogue whose target is of one of these compute capabilities
/// (decimal). `source_dir` is src/; `nvrtc` identifies the compiler. Error: an #include "..." that cannot be read.
Result<std::vector<Recipe>> catalogue_recipes(const std::vector<int>& ccs, const std::filesystem::path& source_dir,
                                              const std::string& nvrtc);

}  // namespace flashfit
