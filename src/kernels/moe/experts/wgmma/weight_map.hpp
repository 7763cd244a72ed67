#pragma once
// The tensor map of a product's weights, as the kernel over wgmma copies by it. Host only.
#include "core/base/error.hpp"
#include "kernels/layout/tensor_map_spec.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"

namespace flashfit {

/// Who encodes a map: runtime/images/tensor_map.hpp for GPUs, proof/emu/tensor_map.hpp for the emulator.
using EncodeTensorMap = Result<TensorMap> (*)(const TensorMapSpec& spec);

/// Sets `weights` of `params` by its `product`, of `owned` experts. Errors: those of `encode`.
Result<void> encode_weights(WgmmaExpertsParams& params, DType dtype, int owned, EncodeTensorMap encode);

}  // namespace flashfit
