#pragma once
// The tables of error_class.hpp by subject, for the list of error_classes.cpp.
#include "doctor/pasted/error_class.hpp"

namespace flashfit::doctor::pasted {

std::span<const ErrorClass> container_errors();
std::span<const ErrorClass> cpu_build_errors();
std::span<const ErrorClass> gpu_code_errors();
std::span<const ErrorClass> host_gate_errors();
std::span<const ErrorClass> driver_errors();
std::span<const ErrorClass> loader_errors();
std::span<const ErrorClass> install_errors();
std::span<const ErrorClass> build_errors();
std::span<const ErrorClass> kernel_errors();
std::span<const ErrorClass> operator_errors();
std::span<const ErrorClass> plugin_errors();
std::span<const ErrorClass> release_errors();
std::span<const ErrorClass> toolchain_errors();

}  // namespace flashfit::doctor::pasted
