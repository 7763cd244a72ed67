// The router for one token after another. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_ROUTE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_ROUTE_INL
#undef FLASHFIT_CPU_ROUTE_INL
#else
#define FLASHFIT_CPU_ROUTE_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "kernels/moe/route/logit_order.hpp"
#include "kernels/moe/route/problem.hpp"
#include "runtime/cpu/convert-inl.hpp"
#include "runtime/cpu/exp-inl.hpp"

HWY_BEFORE_NAMESPACE();
namespace flashfit::cpu::HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

struct Choice {
  uint32 order;
  std::int32_t id;
};

/// The top k of those that have an order, the largest first, the lower id first where two are equal. order(e) is 0 of
/// one that may not be chosen.
template <class Order>
inline void choose(int experts, int top_k, Choice* top, Order order_of_expert) {
  std::fill_n(top, top_k, Choice{0, 0});
  for (int e = 0; e < experts; ++e) {
    const uint32 order = order_of_expert(e);
    if (order <= top[top_k - 1].order) continue;
    int at = top_k - 1;
    for (; at > 0 && order > top[at - 1].order; --at) top[at] = top[at - 1];
    top[at] = {order, e};
  }
}

/// x becomes exp(x - largest), up to a whole vector past `count`; their sum, in one order. In fp64: in fp32 hundreds of
/// terms, one after another, would lose more than all else here.
inline float exponentials(float* x, int count, float largest) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  std::fill(x + count, x + (count + lanes - 1) / lanes * lanes, -std::numeric_limits<float>::infinity());
  for (int i = 0; i < count; i += lanes)
    hn::StoreU(exp_nonpositive(d, hn::Sub(hn::LoadU(d, x + i), hn::Set(d, largest))), d, x + i);
  double sums[4] = {};  // whose additions need not wait for one another
  for (int i = 0; i < count; ++i) sums[i % 4] += x[i];
  return static_cast<float>(sums[0] + sums[1] + (sums[2] + sums[3]));
}

/// 1 / (1 + exp(-x)) or sqrt(log(1 + exp(x))) in place, up to a whole vector past `count`.
inline void score(Router router, float* x, int count) {
  const hn::ScalableTag<float> d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  const auto one = hn::Set(d, 1.0f), zero = hn::Zero(d);
  std::fill(x + count, x + (count + lanes - 1) / lanes * lanes, 0.0f);
  for (int i = 0; i < count; i += lanes) {
    const auto logit = hn::LoadU(d, x + i), e = exp_nonpositive(d, hn::Neg(hn::Abs(logit)));
    if (router == Router::kSigmoid) {
      hn::StoreU(hn::Div(hn::IfThenElse(hn::Lt(logit, zero), e, one), hn::Add(one, e)), d, x + i);
      continue;
    }
    HWY_ALIGN float exponentials[HWY_LANES(float)];
    hn::Store(e, d, exponentials);
    for (int lane = 0; lane < lanes; ++lane) {
      // log(1 + exp(x)) = max(x, 0) + log(1 + exp(-|x|)), of which no term overflows.
      float& each = x[i + lane];
      each =
          each < kFarBelowZero ? std::exp(each / 2) : std::sqrt((each < 0 ? 0 : each) + std::log1p(exponentials[lane]));
    }
  }
}

/// order_of(keys[e]) of the experts in the kept groups, 0 of the others.
inline void orders_of_kept(const RouteProblem& p, const float* keys, uint32* orders) {
  const int each = p.experts / p.groups;
  bool kept[kMaxExperts];
  std::fill_n(kept, p.groups, p.groups_kept == p.groups);
  if (p.groups_kept < p.groups) {
    uint32 sums[kMaxExperts];
    for (int g = 0; g < p.groups; ++g) {
      Choice best[2];
      choose(each, std::min(each, 2), best, [&](int e) { return order_of(keys[g * each + e]); });
      sums[g] = order_of(logit_of(best[0].order) + (each > 1 ? logit_of(best[1].order) : 0.0f));
    }
    for (int i = 0; i < p.groups_kept; ++i) {
      const int g = static_cast<int>(std::max_element(sums, sums + p.groups) - sums);
      kept[g] = true, sums[g] = 0;
    }
  }
  for (int e = 0; e < p.experts; ++e) orders[e] = kept[e / each] ? order_of(keys[e]) : 0;
}

/// A token whose experts' scores depend on no other's logit.
inline void route_alone(const RouteCall& call, std::int64_t token, float* logits) {
  const RouteProblem& p = call.problem;
  Choice top[kMaxTopK];
  if (!p.chooses_by_score())  // the order of logits, which scores near 1 lose to rounding
    choose(p.experts, p.top_k, top, [&](int e) { return order_of(logits[e]); });
  score(p.router, logits, p.experts);
  if (p.chooses_by_score()) {
    float keys[kMaxExperts];
    uint32 orders[kMaxExperts];
    for (int e = 0; e < p.experts; ++e) keys[e] = p.biased ? logits[e] + call.bias[e] : logits[e];
    orders_of_kept(p, keys, orders);
    choose(p.experts, p.top_k, top, [&](int e) { return orders[e]; });
  }
  float sum = 0;
  for (int i = 0; i < p.top_k; ++i) sum += logits[top[i].id];
  const float divisor = p.renormalize ? sum + 1e-20f : 1.0f;
  for (int i = 0; i < p.top_k; ++i) {
    call.weights[token * p.top_k + i] = logits[top[i].id] / divisor * p.scale;
    call.ids[token * p.top_k + i] = top[i].id;
  }
}

template <class T>
void route_token(const RouteCall& call, std::int64_t token) {
  const RouteProblem& p = call.problem;
  float logits[kMaxExperts + kMaxTopK];  // and a vector's rest
  load_row(static_cast<const T*>(call.logits) + token * call.logits_row, logits, static_cast<std::size_t>(p.experts));
  if (scores_alone(p.router)) return route_alone(call, token, logits);
  Choice top[kMaxTopK];
  choose(p.experts, p.top_k, top, [&](int e) { return order_of(logits[e]); });
  const float largest = logit_of(top[0].order);
  float shares[2 * kMaxTopK];
  for (int i = 0; i < p.top_k; ++i) shares[i] = logit_of(top[i].order);
  float sum = exponentials(shares, p.top_k, largest);
  if (p.share_of_all()) sum = exponentials(logits, p.experts, largest);
  for (int i = 0; i < p.top_k; ++i) {
    call.weights[token * p.top_k + i] = shares[i] / sum * p.scale;
    call.ids[token * p.top_k + i] = top[i].id;
  }
}

inline void route(const RouteCall& call, std::int64_t begin, std::int64_t end) {
  const auto each = [&]<class T>(T /*element*/) {
    for (std::int64_t token = begin; token < end; ++token) route_token<T>(call, token);
  };
  if (call.problem.dtype == DType::kF16)
    each(f16{});
  else if (call.problem.dtype == DType::kBF16)
    each(bf16{});
  else
    each(float{});
}

}  // namespace flashfit::cpu::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#endif  // guard
