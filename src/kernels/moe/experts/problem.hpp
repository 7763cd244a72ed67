#pragma once
// What is asked of the experts of a mixture: each token's chosen experts are small networks of two products, whose
// results are weighed and added. Neutral: every backend, the plan and the emulator take it. docs/moe-kernels.md derives
// the GPU's kernels.
//
// With e = topk_ids[t, k] and w = topk_weights[t, k] of token t, for each e from `low` to `high` - 1 (others add 0):
//   g = x[t] . gate_e^T + b13_gate,  u = x[t] . up_e^T + b13_up;
//   h = activation(g, u);  y = h . w2_e^T + b2_e;  out[t] += w y,
// k from 0 to top_k - 1 in this order. With WeightOn::kInput x[t] is multiplied by w instead of y.
#include "core/base/types.hpp"
#include "kernels/moe/experts/activation.hpp"
#include "kernels/moe/experts/limits.hpp"

namespace flashfit {

/// How the 2 I outputs of the first product are ordered.
enum class GateUp : unsigned char {
  kConcatenated,  ///< I of gate, then I of up
  kInterleaved,   ///< gate and up of feature 0, of feature 1, ...
};

/// What a token's weight of an expert multiplies.
enum class WeightOn : unsigned char {
  kOutput,
  kInput,  ///< Llama 4
};

struct ExpertsProblem {
  DType dtype = DType::kBF16;  ///< of x, all weights, biases and out; fp32 on the CPU alone
  int64 tokens = 0;            ///< T; T K is below 2^31
  int experts = 0, top_k = 0;  ///< E, 1 to kMostExperts; K, 1 to kMostChosen
  int hidden = 0;              ///< H: x's and out's columns
  int intermediate = 0;        ///< I: features between the products
  /// The experts whose weights are given, w13[0] being expert `low`'s: 0 <= low <= high <= experts.
  int low = 0, high = 0;
  Activation activation = Activation::kSwiglu;
  float alpha = 1.f, limit = __builtin_inff(), shift = 0.f;  ///< of kSwiglu; limit above 0
  GateUp gate_up = GateUp::kConcatenated;
  bool transposed = false;  ///< w13 is [E, H, 2 I] and w2 [E, I, H], instead of [E, 2 I, H] and [E, H, I]
  bool bias13 = false, bias2 = false;
  WeightOn weight_on = WeightOn::kOutput;
  bool keeps = false;   ///< what the first product gives before the activation is wanted too, for gradients: GPUs alone
  bool sorted = false;  ///< rows of x lie sorted by expert, by offsets instead of ids and weights; top_k is 1
  bool operator==(const ExpertsProblem&) const = default;

  constexpr int owned() const { return high - low; }
  constexpr int first_outputs() const { return has_gate(activation) ? 2 * intermediate : intermediate; }
  /// Rows between the products: one for each token and choice.
  constexpr int64 rows() const { return tokens * top_k; }
};

}  // namespace flashfit
