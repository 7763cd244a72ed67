#pragma once
// The tensor maps of a product's operands, as the kernel over wgmma copies by them. Host only.
#include "kernels/layout/encode_maps.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"

namespace flashfit {

/// Sets the maps of `params` by its `product`, of `owned` experts and `rows` rows. Errors: those of `encode`.
Result<void> encode_maps(WgmmaExpertsParams& params, const ExpertsProductConfig& c, int owned, int64 rows,
                         EncodeTensorMap encode);

}  // namespace flashfit
