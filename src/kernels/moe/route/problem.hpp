#pragma once
// What is asked of the router: the shape of a call (the plan's input), and the call with its pointers (a backend's
// input). Host only. docs/routing.md derives the mathematics.
#include <cstdint>

#include "kernels/moe/route/config.hpp"

namespace flashfit {

/// Where the softmax is taken.
enum class Router : unsigned char {
  kSoftmax,      ///< over all experts, then the top k are chosen: Mixtral, Qwen3-MoE, OLMoE
  kTopKSoftmax,  ///< the top k are chosen, then over them: GPT-OSS
};

struct RouteProblem {
  DType dtype = DType::kF32;
  std::int64_t tokens = 0;
  int experts = 0, top_k = 0;  ///< 1 to kMaxExperts; 1 to experts and kMaxTopK
  Router router = Router::kSoftmax;
  bool renormalize = true;  ///< a token's weights are divided by their sum, which after kTopKSoftmax is 1 already
  bool operator==(const RouteProblem&) const = default;

  /// Whether a weight is its share of the softmax over all experts, not over the chosen ones: softmax, top-k and a
  /// division by the sum give what top-k and softmax do.
  bool share_of_all() const { return router == Router::kSoftmax && !renormalize; }
};

/// A checked call: nothing here needs to be validated again. A token's results are in the order of its logits, the
/// largest first, the lower id first where two are equal, NaN before all.
struct RouteCall {
  RouteProblem problem;
  const void* logits = nullptr;  ///< [tokens, experts]
  std::int64_t logits_row = 0;   ///< elements from one token's to the next's
  float* weights = nullptr;      ///< [tokens, top_k], contiguous
  std::int32_t* ids = nullptr;   ///< [tokens, top_k], contiguous
};

}  // namespace flashfit
