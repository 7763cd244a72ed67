#include "core/launch/launch.hpp"

namespace flashfit {

cu::Status launch_kernel(const Driver& driver, cu::Kernel kernel, const LaunchShape& s, const void* params) {
  cu::LaunchAttribute attributes[2]{};
  unsigned count = 0;
  if (s.cluster > 1) {
    attributes[count].id = cu::kClusterDimension;
    attributes[count++].cluster = {s.cluster, 1, 1};
  }
  if (s.dependent) {
    attributes[count].id = cu::kProgrammaticSerialization;
    attributes[count++].programmatic = 1;
  }
  const cu::LaunchConfig config{.grid_x = s.grid_x,
                                .grid_y = s.grid_y,
                                .grid_z = s.grid_z,
                                .block_x = s.threads,
                                .block_y = 1,
                                .block_z = 1,
                                .shared_bytes = s.shared_bytes,
                                .stream = s.stream,
                                .attributes = count == 0 ? nullptr : attributes,
                                .attribute_count = count};
  void* arguments[] = {const_cast<void*>(params)};
  return driver.cuLaunchKernelEx(&config, kernel, arguments, nullptr);
}

}  // namespace flashfit
