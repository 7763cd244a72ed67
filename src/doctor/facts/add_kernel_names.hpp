#pragma once
// Names of kernels, read from the file again once it is known which are asked for.
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// Names that are read of one container; one with so many may have more.
inline constexpr std::size_t kMostKernelNames = 64;

/// Reads Container::kernels of the containers numbered in `which` of one binary of the target.
void add_kernel_names(const std::string& path, Target& target, std::size_t binary,
                      const std::vector<std::size_t>& which);

}  // namespace flashfit::doctor
