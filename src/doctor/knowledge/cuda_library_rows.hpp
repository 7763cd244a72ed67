#pragma once
// Libraries of CUDA whose names several toolkits share.
#include <string_view>
#include <vector>

#include "doctor/knowledge/cuda_libraries.hpp"

namespace flashfit::doctor {

/// Every row for a soname, that of the oldest toolkit first: libcudnn.so.8 is of CUDA 11 and of CUDA 12.
std::vector<const CudaLibrary*> cuda_libraries_named(std::string_view soname);

/// The name alone of a package as pip is asked for it: "nvidia-cudnn-cu12" of "nvidia-cudnn-cu12<9".
std::string_view project_of(const CudaLibrary& library);

}  // namespace flashfit::doctor
