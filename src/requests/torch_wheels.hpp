#pragma once
// PyTorch's own wheels for x86-64 Linux by release: what `pip install torch` brings, as far as their names and metadata
// say it.
#include <span>
#include <string>

#include "gpu/target.hpp"
#include "inspect/version.hpp"

namespace flashfit::requests {

struct TorchWheels {
  std::uint64_t major, minor;
  std::uint64_t last_patch;
  int first_python, last_python;  ///< CPython 3.first to 3.last
  CudaVersion cuda;               ///< that the package index's own build needs
};

/// By release, the oldest first.
std::span<const TorchWheels> torch_wheels();

/// Null: no such release, or one older than the table.
const TorchWheels* torch_wheels_of(const inspect::Version& version);

/// Why a build of PyTorch with this CUDA has nothing for the GPU; "" if it may have. PyTorch's builds hold no PTX that
/// reaches a later architecture.
std::string torch_gpu_misfit(CudaVersion cuda, ComputeCapability gpu);

}  // namespace flashfit::requests
