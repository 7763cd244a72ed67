#pragma once
// The driver's launch of a kernel: its configuration as cuda.h has it (CUDA Driver API, "Execution Control"), and the
// one place that fills it.
#include "core/gpu/driver.hpp"

namespace flashfit {

/// What a launch is, but for the kernel and its argument.
struct LaunchShape {
  unsigned grid_x = 1, grid_y = 1, grid_z = 1;
  unsigned threads = 1;       ///< of a block
  unsigned shared_bytes = 0;  ///< dynamic, of a block
  unsigned cluster = 1;       ///< blocks of a cluster, along x
  bool dependent = false;     ///< a programmatic dependent launch
  cu::Stream stream = nullptr;
};

/// Queues the kernel with its one argument, which is copied from `params`.
cu::Status launch_kernel(const Driver& driver, cu::Kernel kernel, const LaunchShape& shape, const void* params);

}  // namespace flashfit
