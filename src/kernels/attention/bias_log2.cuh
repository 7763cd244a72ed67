#pragma once
// A bias in units of log2.
#include "core/base/types.hpp"
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/softmax.cuh"

namespace flashfit {

/// A bias below acts as this one. Without, lower ones such as torch.finfo(torch.float32).min were -inf in units of
/// log2, and a row all of whose keys have them would see none.
inline constexpr float kLeastBias = -2e38f;
static_assert(kLeastBias * kLog2E > kNoBase, "a row with this bias alone has a base");

/// Whether a bias of type B may be below.
template <class B>
inline constexpr bool kPassesLeastBias = false;
template <>
inline constexpr bool kPassesLeastBias<bf16> = true;
template <>
inline constexpr bool kPassesLeastBias<float> = true;

/// The bias, which was of type B, in units of log2; NaN stays NaN. One of -inf is not asked here: it hides its key.
template <class B>
inline float bias_log2(float bias) {
  if constexpr (kPassesLeastBias<B>) bias = arch::max_or_nan(bias, kLeastBias);
  return bias * kLog2E;
}

}  // namespace flashfit
