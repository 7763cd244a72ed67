#pragma once
// The router of a mixture of experts: its kernel's compile-time configuration and argument. Neutral: plan, kernel and
// emulator share it.
#include "core/base/types.hpp"

namespace flashfit {

inline constexpr int kMaxExperts = 512, kMaxTopK = 16;
inline constexpr int kMaxGroups = 32;  ///< of experts, in the kernel: a lane has one's sum

/// What an expert's score is instead of a share of a softmax.
enum class Score : int {
  kNone,
  kSigmoid,       ///< 1 / (1 + exp(-logit))
  kSqrtSoftplus,  ///< sqrt(log(1 + exp(logit)))
};
/// Of logits below it sqrt(log(1 + exp(x))) is exp(x / 2) but for less than 2^-27 of it.
inline constexpr float kFarBelowZero = -18;

/// One compiled form of the router's kernel, for up to `experts` experts. A block routes `warps` tokens, one a warp; a
/// lane holds experts / 32 of its token's logits.
struct RouteConfig {
  DType dtype;
  int experts, warps;
  constexpr bool operator==(const RouteConfig&) const = default;
};

constexpr int route_threads(const RouteConfig& c) { return c.warps * 32; }

/// Why a configuration cannot be compiled, or nullptr.
constexpr const char* route_config_error(const RouteConfig& c) {
  if (c.experts < 32 || c.experts > kMaxExperts || c.experts % 32)
    return "experts must be a multiple of 32, at least 32 and at most kMaxExperts";
  if (c.warps < 1 || c.warps > 32) return "warps must be 1 to 32";
  return nullptr;
}

/// The kernel's one argument.
struct RouteParams {
  const void* logits;    ///< [tokens, experts]
  long long logits_row;  ///< elements from one token's logits to the next's
  float* weights;        ///< [tokens, top_k]
  int* ids;              ///< [tokens, top_k]
  int tokens, experts;   ///< at most the configuration's experts
  int top_k;             ///< at most experts and kMaxTopK
  int share_of_all;      ///< 1: a weight is its share of the softmax over all experts; 0: over the chosen ones
  float scale;           ///< multiplies weights
  // Instead of a softmax:
  Score score;                             ///< what weighs experts, and with bias and groups chooses them
  const float* bias;                       ///< [experts]: experts are chosen by score + bias; or nullptr
  int groups, group_experts, groups_kept;  ///< at most kMaxGroups of group_experts each
  int renormalize;                         ///< 1: weights are divided by their sum
};

}  // namespace flashfit
