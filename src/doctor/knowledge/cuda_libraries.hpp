#pragma once
// Which package brings a library of CUDA.
#include <string>
#include <string_view>

namespace flashfit::doctor {

struct CudaLibrary {
  std::string_view soname;   ///< "libcudart.so.12"
  int cuda = 0;              ///< the toolkit's major version
  std::string_view package;  ///< "nvidia-cuda-runtime-cu12"
  std::string_view folder;   ///< in site-packages: "nvidia/cuda_runtime/lib"
};

/// The row for a soname; where several toolkits' libraries have it, that of toolkit `cuda` if there is one. Null: not a
/// library of CUDA's packages.
const CudaLibrary* find_cuda_library(std::string_view soname, int cuda);

/// "libcusparseLt.so.0" of "libcusparseLt-f80c68d1.so.0": tools that copy libraries into a wheel put eight digits of a
/// hash into the copy's name (auditwheel, `repair`). Other names as they are.
std::string name_before_repair(const std::string& file);

}  // namespace flashfit::doctor
