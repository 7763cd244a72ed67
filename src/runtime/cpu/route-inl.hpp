// The router for one token after another. Compiled once for each Highway target, hence the toggled guard.
#if defined(FLASHFIT_CPU_ROUTE_INL) == defined(HWY_TARGET_TOGGLE)
#ifdef FLASHFIT_CPU_ROUTE_INL
#undef FLASHFIT_CPU_ROUTE_INL
#else
#define FLASHFIT_CPU_ROUTE_INL
#endif

#include <hwy/highway.h>

#include <algorithm>
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

/// The top k logits, the largest first, the lower id first where two are equal.
inline void choose(const float* logits, int experts, int top_k, Choice* top) {
  std::fill_n(top, top_k, Choice{0, 0});
  for (int e = 0; e < experts; ++e) {
    const uint32 order = order_of(logits[e]);
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

template <class T>
void route_token(const RouteCall& call, std::int64_t token) {
  const RouteProblem& p = call.problem;
  float logits[kMaxExperts + kMaxTopK];  // and a vector's rest
  load_row(static_cast<const T*>(call.logits) + token * call.logits_row, logits, static_cast<std::size_t>(p.experts));
  Choice top[kMaxTopK];
  choose(logits, p.experts, p.top_k, top);
  const float largest = logit_of(top[0].order);
  float shares[2 * kMaxTopK];
  for (int i = 0; i < p.top_k; ++i) shares[i] = logit_of(top[i].order);
  float sum = exponentials(shares, p.top_k, largest);
  if (p.share_of_all()) sum = exponentials(logits, p.experts, largest);
  for (int i = 0; i < p.top_k; ++i) {
    call.weights[token * p.top_k + i] = shares[i] / sum;
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
