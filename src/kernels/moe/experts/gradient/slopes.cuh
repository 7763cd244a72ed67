#pragma once
// An activation and its derivatives by gate and up (problem.hpp has the formulas), in fp32.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/activation.cuh"
#include "kernels/moe/experts/gradient/params.hpp"

namespace flashfit {

/// Of one feature.
struct ActivationSlopes {
  float h, by_gate, by_up;
};

/// Without a gate `gate` is not looked at, and by_gate is 0.
template <Activation A>
ActivationSlopes slopes_of(const ActivationGradientParams& p, float gate, float up) {
  if constexpr (A == Activation::kSwiglu) {
    const float g = gate > p.limit ? p.limit : gate;
    const float u = (up > p.limit ? p.limit : up < -p.limit ? -p.limit : up) + p.shift;
    const float s = times_sigmoid(1.f, p.alpha * g), share = g * s;
    return {.h = share * u,
            .by_gate = gate > p.limit ? 0.f : arch::multiply_add(p.alpha * share, 1.f - s, s) * u,
            .by_up = up > p.limit || up < -p.limit ? 0.f : share};
  } else if constexpr (A == Activation::kGegluTanh) {
    constexpr float kTwice = 1.5957691216057308f;  // sqrt(8 / pi)
    const float c = gate > 1e4f ? 1e4f : gate < -1e4f ? -1e4f : gate;
    const float s = times_sigmoid(1.f, c * arch::multiply_add(kTwice * 0.044715f, c * c, kTwice));
    const float bend = c * s * (1.f - s) * arch::multiply_add(3.f * kTwice * 0.044715f, c * c, kTwice);
    return {.h = gate * s * up, .by_gate = (s + bend) * up, .by_up = gate * s};
  } else if constexpr (A == Activation::kGegluErf) {
    const float share = normal_share(gate);
    const float density = 0.39894228040143268f * arch::exp2(gate * gate * -0.72134752044448170f);
    return {.h = gate * share * up, .by_gate = arch::multiply_add(gate, density, share) * up, .by_up = gate * share};
  } else if constexpr (A == Activation::kSilu) {
    const float s = times_sigmoid(1.f, up);
    return {.h = up * s, .by_gate = 0.f, .by_up = s * arch::multiply_add(up, 1.f - s, 1.f)};
  } else {
    const float u = up < 0.f ? 0.f : up;
    return {.h = u * u, .by_gate = 0.f, .by_up = 2.f * u};
  }
}

}  // namespace flashfit
