#pragma once
// A list of kernels to make images of, for kernels that are not of the variant table: tests' and users' own.
#include <filesystem>
#include <string>
#include <vector>

#include "base/error.hpp"

namespace flashfit {

/// One kernel for one target.
struct KernelRecipe {
  std::string name;    ///< what the image is asked for by
  std::string header;  ///< where the kernel is defined, as #include takes it
  std::string kernel;  ///< its C++ type: "RowSoftmax<256>"
  std::string target;  ///< "9.0", "9.0a" (machine code for 9.0 alone, with its own instructions), "8.0+PTX"
  int cc = 0;          ///< decimal: 90
  bool ptx = false;
  std::string source;      ///< what NVRTC compiles
  std::string expression;  ///< the entry point in it
  std::vector<std::string> options;
  std::string key;  ///< of the cache: a hash of all of the above, of every header reached, and of NVRTC itself
};

/// Reads a list of lines "NAME | HEADER | KERNEL | TARGET, TARGET ..."; "#" begins a comment. `folders` are where
/// headers are looked for; `nvrtc` identifies the compiler. Errors name file and line.
Result<std::vector<KernelRecipe>> read_kernel_list(const std::filesystem::path& list,
                                                   const std::vector<std::filesystem::path>& folders,
                                                   const std::string& nvrtc);

}  // namespace flashfit
