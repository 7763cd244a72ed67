#pragma once
// Images of a kernel list (flashfit_kernels() of cmake/kernels.cmake), embedded in a program.
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "core/gpu/target.hpp"

namespace flashfit::lab {

/// One kernel's code for the best target that a GPU runs.
struct KernelImage {
  std::string name, entry;
  Target target;
  std::vector<std::byte> bytes;
};

/// The image called `name` in `blob` for that GPU: machine code before PTX, then the newest. Error: kMisfit names the
/// kernel, the GPU and what the blob holds.
Result<KernelImage> find_kernel_image(std::span<const std::byte> blob, const std::string& name, ComputeCapability gpu);

}  // namespace flashfit::lab
