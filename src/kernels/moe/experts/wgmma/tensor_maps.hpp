#pragma once
// The tensor maps of a product's operands, as the kernel over wgmma copies by them. Host only.
#include "core/base/error.hpp"
#include "kernels/layout/tensor_map_spec.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"

namespace flashfit {

/// Who encodes a map: runtime/images/tensor_map.hpp for GPUs, proof/emu/tensor_map.hpp for the emulator.
using EncodeTensorMap = Result<TensorMap> (*)(const TensorMapSpec& spec);

/// Sets the maps of `params` by its `product`, of `owned` experts and `rows` rows. Errors: those of `encode`.
Result<void> encode_maps(WgmmaExpertsParams& params, const ExpertsProductConfig& c, int owned, int64 rows,
                         EncodeTensorMap encode);

}  // namespace flashfit
