#pragma once
// The unit of softcap's tanh over wgmma. Neutral: kernels and hosts share it.

namespace flashfit {

/// tanh is in units of the coefficient of its polynomial's highest power: one multiplication less a score, as exp2's
/// argument is scaled in any case. tools/dev/tanh_polynomial.py derives it.
inline constexpr float kTanhUnit = 1.00199566e-06f;

}  // namespace flashfit
