#pragma once
// What the first product's results become (problem.hpp has the formulas), in fp32. NaN stays NaN, also where
// a limit clamps.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

/// x / (1 + e^-z)
inline float times_sigmoid(float x, float z) {
  constexpr float kMinusLog2E = -1.44269504088896341f;
  return x * arch::reciprocal(1.f + arch::exp2(z * kMinusLog2E));
}

/// (1 + erf(g / sqrt 2)) / 2 = erfc(-g / sqrt 2) / 2, of |g|'s erfc = 2 - erfc(-|g|). erfc within 1.5e-7 (Hastings'
/// approximation, Abramowitz and Stegun 7.1.26).
inline float normal_share(float g) {
  const float x = (g < 0.f ? -g : g) * 0.70710678118654752f;
  const float t = arch::reciprocal(arch::multiply_add(0.3275911f, x, 1.f));
  float q = arch::multiply_add(1.061405429f, t, -1.453152027f);
  q = arch::multiply_add(q, t, 1.421413741f);
  q = arch::multiply_add(q, t, -0.284496736f);
  q = arch::multiply_add(q, t, 0.254829592f);
  const float erfc = q * t * arch::exp2(x * x * -1.44269504088896341f);
  return 0.5f * (g < 0.f ? erfc : 2.f - erfc);
}
inline float gelu_erf(float g) { return g * normal_share(g); }

/// (1 + tanh y) / 2 = 1 / (1 + e^-2y) with y = sqrt(2 / pi) (g + 0.044715 g^3).
inline float gelu_tanh(float g) {
  constexpr float kTwice = 1.5957691216057308f;
  // Beyond, the result is 0 or g; a square would become infinite.
  const float c = g > 1e4f ? 1e4f : g < -1e4f ? -1e4f : g;
  return times_sigmoid(g, c * arch::multiply_add(kTwice * 0.044715f, c * c, kTwice));
}

/// What one activation makes of a feature's two products, or without a gate of its one.
/// kOften: worth code of its own for products without biases and weights.
template <Activation A>
struct Activated {
  static constexpr bool kGated = has_gate(A), kActivates = true, kOften = false;
  const ExpertsProductParams& p;

  float operator()(float gate, float up) const {
    if constexpr (A == Activation::kSwiglu) {
      const float g = -arch::max_or_nan(-gate, -p.limit);
      const float u = arch::max_or_nan(-arch::max_or_nan(-up, -p.limit), -p.limit);
      return times_sigmoid(g, p.alpha * g) * (u + p.shift);
    } else {
      return (A == Activation::kGegluTanh ? gelu_tanh(gate) : gelu_erf(gate)) * up;
    }
  }
  float operator()(float up) const {
    if constexpr (A == Activation::kSilu) return times_sigmoid(up, up);
    const float u = up < 0.f ? 0.f : up;
    return u * u;
  }
};
/// kSwiglu where it neither clamps nor scales nor shifts, as in nearly all models: half the instructions.
struct PlainSwiglu {
  static constexpr bool kGated = true, kActivates = true, kOften = true;
  float operator()(float gate, float up) const { return times_sigmoid(gate, gate) * up; }
};
/// Of the second product.
struct Unchanged {
  static constexpr bool kGated = false, kActivates = false, kOften = true;
  float operator()(float x) const { return x; }
};

/// f(what this product's results become): asked once, as a kernel that asks for each result spends more instructions on
/// that, and on fetching them, than on the activation.
template <class F>
void with_activation(const ExpertsProductParams& p, F f) {
  if (p.activates == 0) return f(Unchanged{});
  switch (p.activation) {
    case Activation::kSwiglu:
      if (p.is_plain_swiglu()) return f(PlainSwiglu{});
      return f(Activated<Activation::kSwiglu>{p});
    case Activation::kGegluTanh:
      return f(Activated<Activation::kGegluTanh>{p});
    case Activation::kGegluErf:
      return f(Activated<Activation::kGegluErf>{p});
    case Activation::kSilu:
      return f(Activated<Activation::kSilu>{p});
    case Activation::kRelu2:
      return f(Activated<Activation::kRelu2>{p});
  }
}

}  // namespace flashfit
