#pragma once
// From recipes to images: what both build tools do, whatever their recipes come from.
#include <cstddef>
#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "runtime/images/build/cache.hpp"
#include "runtime/images/build/recipe.hpp"

namespace flashfit {

struct CompileOptions {
  std::string nvrtc;                           ///< path of the compiler's library
  std::vector<std::filesystem::path> folders;  ///< where headers are looked for, in this order
  int jobs = 2;                                ///< processes
  /// Gets the line of probe_compiler() if there was something to compile.
  std::function<void(const std::string& line)> probed = {};
};

/// Compiles those of `all` that `cache` lacks, once the compiler has passed probe_compiler().
/// `progress` gets, after each, its name and how many of how many are done. Returns how many there were.
Result<int> compile_missing(const std::vector<Recipe>& all, const CompileOptions& options, const ImageCache& cache,
                            const std::function<void(const std::string& name, int done, int of)>& progress);

/// An image that compile_missing() has seen to. Error: something has removed it since.
Result<CachedImage> image_of(const Recipe& made, const ImageCache& cache);

/// Error: the file cannot be written, in terms of --output.
Result<void> write_output(const std::string& path, const std::vector<std::byte>& bytes);

}  // namespace flashfit
