#include "runtime/api/moe/router.hpp"

#include <cmath>

#include "runtime/api/refuse.hpp"

namespace flashfit::api {
namespace {

Result<void> check_groups(const RouteProblem& p, const RouterOptions& options) {
  if (options.groups == 0 && options.groups_kept == 0) return {};
  if (options.groups < 1 || p.experts % options.groups)
    return refuse("groups: {}; accepted: a divisor of {}, the experts", options.groups, p.experts);
  if (options.groups_kept < 1 || options.groups_kept > options.groups)
    return refuse("groups_kept: {}; accepted: 1 to {}, the groups", options.groups_kept, options.groups);
  if (const int kept = p.experts / options.groups * options.groups_kept; p.top_k > kept)
    return refuse("top_k: {}; accepted: 1 to {}, the experts of the groups that are kept", p.top_k, kept);
  return {};
}

}  // namespace

Result<void> set_router(RouteProblem& p, const RouterOptions& options) {
  const bool sigmoid = options.flags & FLASHFIT_SIGMOID, softplus = options.flags & FLASHFIT_SQRT_SOFTPLUS;
  const bool topk_first = options.flags & FLASHFIT_TOPK_FIRST;
  if (sigmoid + softplus + topk_first > 1)
    return refuse(
        "flags: {:#x} has more than one of FLASHFIT_TOPK_FIRST, FLASHFIT_SIGMOID, FLASHFIT_SQRT_SOFTPLUS; accepted: "
        "one "
        "or none",
        options.flags);
  p.router = sigmoid      ? Router::kSigmoid
             : softplus   ? Router::kSqrtSoftplus
             : topk_first ? Router::kTopKSoftmax
                          : Router::kSoftmax;
  p.renormalize = options.flags & FLASHFIT_RENORMALIZE;
  if (!scores_alone(p.router)) {
    constexpr const char* kAlone = "FLASHFIT_SIGMOID or FLASHFIT_SQRT_SOFTPLUS";
    if (options.biased) return refuse("router_bias: given with a softmax; accepted: NULL, or {}", kAlone);
    if (options.groups > 1) return refuse("groups: {} with a softmax; accepted: 0 or 1, or {}", options.groups, kAlone);
  }
  if (auto ok = check_groups(p, options); !ok) return ok;
  if (!std::isfinite(options.scale)) return refuse("scale: {}; accepted: finite numbers, 0 for 1", options.scale);
  p.biased = options.biased;
  if (options.groups > 0) p.groups = options.groups, p.groups_kept = options.groups_kept;
  p.scale = options.scale == 0 ? 1 : options.scale;
  return {};
}

Result<void> check_router_bias(const Argument& bias, std::int64_t experts) {
  if (!is_dtype(bias.dtype, kDLFloat, 32)) return refuse("router_bias: dtype is {}; accepted: fp32", text(bias.dtype));
  if (bias.size[0] != experts)
    return refuse("router_bias: shape is {}; accepted: ({}), a number for each expert", text(bias.shape()), experts);
  if (!is_contiguous(bias)) return refuse("router_bias: strides are {}; accepted: contiguous", text(bias.strides()));
  return {};
}

Result<DType> check_logits(const Argument& logits) {
  const std::int64_t experts = logits.size[1];
  if (experts < 1 || experts > kMaxExperts)
    return refuse("{}: shape is {}; accepted: 1 to {} experts", logits.name, text(logits.shape()), kMaxExperts);
  if (logits.stride[1] != 1)
    return refuse("{}: strides are {}; accepted: 1 in the last dimension", logits.name, text(logits.strides()));
  if (is_dtype(logits.dtype, kDLFloat, 16)) return DType::kF16;
  if (is_dtype(logits.dtype, kDLBfloat, 16)) return DType::kBF16;
  if (is_dtype(logits.dtype, kDLFloat, 32)) return DType::kF32;
  return refuse("{}: dtype is {}; accepted: fp16, bf16, fp32", logits.name, text(logits.dtype));
}

}  // namespace flashfit::api
