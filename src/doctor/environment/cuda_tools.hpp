#pragma once
// Compilers of GPU code that lie about: the toolkits', and those that packages bring.
#include <string>
#include <vector>

#include "core/gpu/target.hpp"
#include "doctor/dynamic_loader/file_tree.hpp"
#include "doctor/gpu_code/gpu_compiler.hpp"

namespace flashfit::doctor::environment {

struct CudaTool {
  doctor::GpuCompiler kind = doctor::GpuCompiler::kNvcc;
  std::string path;         ///< in the tree, printable
  std::string package;      ///< that brings it: "triton"; "" for a toolkit's
  CudaVersion version = 0;  ///< of CUDA: 12080; 0: not told
};

/// The tools of toolkits: of /usr/local/cuda*, the folder that CUDA_HOME names (`home`, "" for none), and `prefix`/bin.
std::vector<CudaTool> find_toolkits(const dynamic_loader::FileTree& tree, const std::string& home,
                                    const std::string& prefix);

}  // namespace flashfit::doctor::environment
