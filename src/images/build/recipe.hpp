#pragma once
// How one image is made: source, name expression, options, and the key that names the result in the cache.
#include <filesystem>
#include <string>
#include <vector>

#include "attention/variants.hpp"
#include "base/error.hpp"

namespace flashfit {

struct Recipe {
  const ForwardVariant* variant;
  Target target;
  std::string source;                ///< what NVRTC compiles
  std::string expression;            ///< the one kernel in it
  std::vector<std::string> options;  ///< without include paths
  std::string key;  ///< hash of all of the above, of every header reached from the source, and of NVRTC itself
};

/// "fwd_mma_... for 9.0"
std::string name_of(const Recipe& recipe);

/// One recipe for each row and target of the table whose target is in `targets`.
/// `source_dir` is src/; `nvrtc` identifies the compiler. Error: an #include "..." that cannot be read.
Result<std::vector<Recipe>> make_recipes(const std::vector<int>& targets, const std::filesystem::path& source_dir,
                                         const std::string& nvrtc);

}  // namespace flashfit
