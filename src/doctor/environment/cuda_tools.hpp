#pragma once
// Compilers of GPU code that lie about: the toolkit's nvcc and ptxas, Triton's own ptxas, NVRTC. Which GPUs each knows
// follows from its version (doctor/gpu_code/toolkit_gpus.hpp), which its bytes tell; none is run.
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/gpu/target.hpp"
#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

struct CudaTool {
  enum class Kind : unsigned char { kNvcc, kPtxas, kNvrtc };
  Kind kind = Kind::kNvcc;
  std::string path;         ///< in the tree, printable
  std::string package;      ///< that brings it: "triton"; "" for a toolkit's
  CudaVersion version = 0;  ///< of CUDA: 12080; 0: not told
};
/// "nvcc", "ptxas", "nvrtc".
const char* name_of(CudaTool::Kind kind);

/// What a file of this name would be.
std::optional<CudaTool::Kind> tool_kind(std::string_view path);

/// The tool at `path`, by its name; nothing if it is none.
std::optional<CudaTool> read_cuda_tool(const dynamic_loader::FileTree& tree, const std::string& path);

/// The tools of toolkits: of /usr/local/cuda*, the folder that CUDA_HOME names (`home`, "" for none), and `prefix`/bin.
std::vector<CudaTool> find_toolkits(const dynamic_loader::FileTree& tree, const std::string& home,
                                    const std::string& prefix);

}  // namespace flashfit::doctor::environment
