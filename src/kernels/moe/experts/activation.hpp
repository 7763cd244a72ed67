#pragma once
// What an expert computes between its two products. Neutral: kernels include this.

namespace flashfit {

/// h of the two products g (gate) and u (up) of a feature, in fp32. kSilu and kRelu2 have no gate: w13 is [E, I, H],
/// and u is its product.
enum class Activation : unsigned char {
  /// g' = min(g, limit), u' = clamp(u, -limit, limit); h = g' / (1 + exp(-alpha g')) (u' + shift). alpha 1, limit inf,
  /// shift 0: SwiGLU; alpha 1.702, limit 7, shift 1: GPT-OSS; alpha 1, limit 10, shift 0: DeepSeek-V4.
  kSwiglu,
  kGegluTanh,  ///< g / 2 (1 + tanh(sqrt(2 / pi) (g + 0.044715 g^3))) u
  kGegluErf,   ///< g / 2 (1 + erf(g / sqrt(2))) u
  kSilu,       ///< u / (1 + exp(-u))
  kRelu2,      ///< max(u, 0)^2
};

constexpr bool has_gate(Activation a) { return a != Activation::kSilu && a != Activation::kRelu2; }

/// "swiglu", "geglu_tanh", "geglu_erf", "silu", "relu2": the names that all interfaces use.
constexpr const char* name_of(Activation a) {
  return a == Activation::kSwiglu      ? "swiglu"
         : a == Activation::kGegluTanh ? "geglu_tanh"
         : a == Activation::kGegluErf  ? "geglu_erf"
         : a == Activation::kSilu      ? "silu"
                                       : "relu2";
}

}  // namespace flashfit
