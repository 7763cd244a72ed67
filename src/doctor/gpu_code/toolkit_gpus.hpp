#pragma once
// Which GPUs a CUDA toolkit's compilers know.
#include "core/gpu/target.hpp"

namespace flashfit::doctor {

/// Whether a compiler of this CUDA version makes code for the GPU; true if the version is unknown.
bool toolkit_knows(CudaVersion tool, ComputeCapability gpu);
/// The oldest CUDA whose compilers know the GPU; 0 if the table has none.
CudaVersion first_toolkit_for(ComputeCapability gpu);
/// The newest that still knows it; 0 if none has dropped it.
CudaVersion last_toolkit_for(ComputeCapability gpu);

}  // namespace flashfit::doctor
