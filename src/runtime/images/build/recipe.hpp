#pragma once
// How one image is made: what is compiled for which target, and the key that names the result in the cache. Whatever
// the kernel is: a variant of our own table or a line of somebody's list.
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/target.hpp"

namespace flashfit {

/// What the build holds a kernel's images to.
struct KernelLimits {
  int spill_bytes = 0;   ///< spilled or local bytes a thread that are accepted
  int shared_bytes = 0;  ///< dynamic shared memory of a block
};

/// A kernel before its targets.
struct Kernel {
  std::string name;                         ///< what its images are asked for by
  std::string header;                       ///< where it is defined, as #include takes it
  std::string type;                         ///< its C++ type, as namespace flashfit sees it: "RowSoftmax<256>"
  std::optional<KernelLimits> limits = {};  ///< none: whatever it uses
};

struct Recipe {
  Kernel kernel;
  Target target;
  std::string source;                ///< what NVRTC compiles
  std::string expression;            ///< the entry point in it
  std::vector<std::string> options;  ///< without include paths
  std::string key;  ///< hash of all of the above, of every header reached from the source, and of NVRTC itself

  bool ptx() const { return target.kind == Target::Kind::kPtx; }
};

/// "fwd_mma_... for 9.0"
std::string name_of(const Recipe& recipe);

/// `closure` is closure_of(kernel.header); `nvrtc` identifies the compiler.
Recipe make_recipe(const Kernel& kernel, const Target& target, const std::string& closure, const std::string& nvrtc);

}  // namespace flashfit
