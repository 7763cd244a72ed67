#pragma once
// PTX of the catalogue's kernels as NVRTC makes it, kept in the cache of images.
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "proof/emulated/kernel.hpp"
#include "proof/ptx/program.hpp"

namespace flashfit::testing {

/// How a kernel is compiled.
struct Build {
  int target = 80;            ///< compute capability
  bool own_features = false;  ///< with the instructions that it alone has: 90a
  /// Without contraction of a * b + c, as the emulator's kernels are, so that results are the same bits. Else as images
  /// are.
  bool comparable = true;
  std::vector<std::filesystem::path> before = {};  ///< folders whose headers stand for those of src/
};

/// The variant's kernel, decoded.
Result<std::unique_ptr<ptx::Program>> program_of(const KernelVariant& variant, const Build& build);

/// Any source's kernel, decoded; nothing of it is kept.
Result<std::unique_ptr<ptx::Program>> program_of_source(const std::string& source, const std::string& expression,
                                                        const Build& build);

/// The variant's kernel as one that an emulated run() takes, but run from its PTX. `program` must outlive the runs, and
/// is the one that is run by all kernels of this thread, until this is called again.
emulated::EmulatedKernel kernel_of(const KernelVariant& variant, const ptx::Program& program);

}  // namespace flashfit::testing
