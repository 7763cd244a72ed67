#pragma once
// What is asked of the router: the shape of a call (the plan's input), and the call with its pointers (a backend's
// input). Host only. docs/routing.md derives the mathematics.
#include <cstdint>

#include "kernels/moe/route/config.hpp"

namespace flashfit {

/// Where the softmax is taken, or what is taken instead of it.
enum class Router : unsigned char {
  kSoftmax,       ///< over all experts, then the top k are chosen: Mixtral, Qwen3-MoE, OLMoE
  kTopKSoftmax,   ///< the top k are chosen, then over them: GPT-OSS
  kSigmoid,       ///< 1 / (1 + exp(-logit)): DeepSeek-V3, GLM-4.5, Kimi-K2, MiniMax-M2, Llama 4
  kSqrtSoftplus,  ///< sqrt(log(1 + exp(logit))): DeepSeek-V4
};

/// Whether an expert's score depends on no other's logit.
constexpr bool scores_alone(Router r) { return r == Router::kSigmoid || r == Router::kSqrtSoftplus; }

struct RouteProblem {
  DType dtype = DType::kF32;
  std::int64_t tokens = 0;
  int experts = 0, top_k = 0;  ///< 1 to kMaxExperts; 1 to experts and kMaxTopK
  Router router = Router::kSoftmax;
  bool renormalize = true;  ///< a token's weights are divided by their sum, which after kTopKSoftmax is 1 already
  bool biased = false;      ///< of scores_alone(): experts are chosen by their score and a bias
  /// Of scores_alone(): equal parts of the experts, and how many of them a token keeps. top_k is at most the kept
  /// experts.
  int groups = 1, groups_kept = 1;
  float scale = 1;  ///< multiplies weights
  bool operator==(const RouteProblem&) const = default;

  /// Whether a weight is its share of the softmax over all experts, not over the chosen ones: softmax, top-k and a
  /// division by the sum give what top-k and softmax do.
  bool share_of_all() const { return router == Router::kSoftmax && !renormalize; }
  /// Whether experts are chosen by what their logits' order does not tell.
  bool chooses_by_score() const { return biased || groups > groups_kept; }
};

/// A checked call: nothing here needs to be validated again. A token's results are in the order of its logits, the
/// largest first, the lower id first where two are equal, NaN before all; of what chooses_by_score() in that of scores
/// with their bias.
struct RouteCall {
  RouteProblem problem;
  const void* logits = nullptr;  ///< [tokens, experts]
  std::int64_t logits_row = 0;   ///< elements from one token's to the next's
  float* weights = nullptr;      ///< [tokens, top_k], contiguous
  std::int32_t* ids = nullptr;   ///< [tokens, top_k], contiguous
  const float* bias = nullptr;   ///< [experts], contiguous, of a problem that is biased
};

}  // namespace flashfit
