#pragma once
// Names of kernels, read from the file again once it is known which are asked for.
#include "inspect/facts.hpp"

namespace flashfit::inspect {

/// Reads Container::kernels of the containers numbered in `which` of one binary of the target.
void add_kernel_names(const std::string& path, Target& target, std::size_t binary,
                      const std::vector<std::size_t>& which);

}  // namespace flashfit::inspect
