#pragma once
// Names of DLLs: which come with Windows, with Visual C++, and which CUDA library another is.
#include <string>
#include <string_view>

namespace flashfit::doctor::dynamic_loader {

/// Whether every Windows 10 and 11, or a driver's installer, has it. Any case.
bool is_of_windows(std::string_view dll);

/// "msvcp140.dll", "vcruntime140_1.dll", "vcomp140.dll": Python brings the second's kind, nobody the others.
bool is_of_visual_c(std::string_view dll);

/// The name of the same library on Linux: "cublasLt64_13.dll" -> "libcublasLt.so.13", "cudart64_110.dll" ->
/// "libcudart.so.11.0", "nvrtc64_120_0.dll" -> "libnvrtc.so.12"; "" of what is not written so.
std::string soname_of_dll(std::string_view dll);

}  // namespace flashfit::doctor::dynamic_loader
