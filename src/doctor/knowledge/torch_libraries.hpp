#pragma once
// PyTorch's own libraries by their names.
#include <string_view>

namespace flashfit::doctor {

/// Whether a library of this file name or soname is one of PyTorch's own: "libtorch_cpu.so", "libc10_cuda.so". Those of
/// its companions, which must fit it as any extension must, are none: "libtorchaudio.so", "libtorchcodec_core7.so".
bool is_torch_library(std::string_view name);

}  // namespace flashfit::doctor
