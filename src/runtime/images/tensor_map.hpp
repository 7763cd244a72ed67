#pragma once
// Tensor maps for kernels on a GPU.
#include "core/base/error.hpp"
#include "kernels/layout/tensor_map.hpp"
#include "kernels/layout/tensor_map_spec.hpp"

namespace flashfit {

/// The map of `spec` as the driver encodes it: work for the CPU alone, microseconds unless the thread had the same map
/// a short while ago. Errors: those of kernels/layout/tensor_map_rules.hpp and of driver(); kMisfit if the driver
/// cannot encode maps; kCuda if it refuses.
Result<TensorMap> encode_tensor_map(const TensorMapSpec& spec);

}  // namespace flashfit
