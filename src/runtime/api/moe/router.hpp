#pragma once
// What the router and the layer of experts alike may be told about routing.
#include "flashfit/flashfit.h"
#include "kernels/moe/route/problem.hpp"
#include "runtime/api/argument.hpp"

namespace flashfit::api {

/// The flags that say how experts are chosen and weighed.
inline constexpr std::uint32_t kRouterFlags =
    FLASHFIT_TOPK_FIRST | FLASHFIT_RENORMALIZE | FLASHFIT_SIGMOID | FLASHFIT_SQRT_SOFTPLUS;

/// The members that both structs have.
struct RouterOptions {
  std::uint32_t flags;
  bool biased;  ///< router_bias is given
  std::int32_t groups, groups_kept;
  float scale;
};

/// Fills what `options` says of a problem that has its experts and top_k. Errors: kInvalidArgument.
Result<void> set_router(RouteProblem& problem, const RouterOptions& options);

/// fp32 [experts], contiguous. Errors: kInvalidArgument.
Result<void> check_router_bias(const Argument& bias, std::int64_t experts);

/// fp16, bf16 or fp32 [tokens, 1 to kMaxExperts], strides of 1 in the last dimension; its dtype. Errors:
/// kInvalidArgument.
Result<DType> check_logits(const Argument& logits);

}  // namespace flashfit::api
