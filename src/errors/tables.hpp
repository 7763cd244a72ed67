#pragma once
// The tables of error_class.hpp by subject, for the list of error_classes.cpp.
#include "errors/error_class.hpp"

namespace flashfit::errors {

std::span<const ErrorClass> gpu_code_errors();
std::span<const ErrorClass> driver_errors();
std::span<const ErrorClass> loader_errors();
std::span<const ErrorClass> install_errors();
std::span<const ErrorClass> build_errors();
std::span<const ErrorClass> kernel_errors();

}  // namespace flashfit::errors
