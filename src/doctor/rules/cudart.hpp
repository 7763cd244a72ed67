#pragma once
#include <string_view>

namespace flashfit::doctor {

/// The major version of the CUDA runtime that a library of this name is: 12 of "libcudart.so.12", "cudart64_12.dll";
/// 0 where it is none.
int cudart_major(std::string_view library);

}  // namespace flashfit::doctor
