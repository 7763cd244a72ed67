#pragma once
// The tensor maps of a call, as kernels over wgmma copy by them. Host only.
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/problem.hpp"
#include "kernels/layout/encode_maps.hpp"

namespace flashfit {

/// Sets q, k and v of `params`, and where heads of k and v begin, for a call of a problem without no_tensor_maps.
/// Errors: those of `encode`.
Result<void> encode_maps(WgmmaForwardParams& params, const ForwardConfig& config, const ForwardCall& call,
                         EncodeTensorMap encode);

}  // namespace flashfit
