#pragma once
// The router of a mixture of experts: each token's top k of `experts` logits, and their weights (docs/routing.md).
// A warp owns a token, a lane every 32nd of its logits, as numbers in the order of choice (logit_order.hpp). top_k
// times: the warp's largest, the lowest id among equal ones; that lane drops it. Lane r keeps the choice of rank r.
// Then with m the largest logit
//   weight_r = exp(logit_r - m) / sum of exp(logit - m),
// the sum over all experts or over the chosen ones. With scores (score.cuh), orders are those of scores and biases
// where these choose, groups that are not kept have none, and a weight is its expert's score. Every sum is taken in one
// order: results are the same in each run.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/moe/route/config.hpp"
#include "kernels/moe/route/exp.cuh"
#include "kernels/moe/route/logit_order.hpp"
#include "kernels/moe/route/score.cuh"

namespace flashfit {

template <RouteConfig C>
struct RouteKernel {
  static_assert(route_config_error(C) == nullptr);
  using Params = RouteParams;
  using T = Element<C.dtype>;
  struct Shared {
    int none;
  };
  static constexpr int kThreads = route_threads(C), kMinBlocks = 1, kEach = C.experts / 32;

  static void run(const Params& p) {
    arch::wait_for_step_before();
    arch::let_next_step_begin();
    const int64 token = int64(arch::block().x) * C.warps + arch::warp();
    if (token >= p.tokens) return;
    uint32 orders[kEach];
    read(p, token, orders);
    if (p.score != Score::kNone) return weigh_scores(p, token, orders);
    const float largest = logit_of(arch::warp_max(largest_of(orders)));
    float sum = p.share_of_all ? sum_of_all(orders, largest) : 0.0f;

    uint32 mine = 0;
    int id = 0;
    choose(p, orders, mine, id);
    const bool ranked = arch::lane() < p.top_k;
    const float share = ranked ? exp_nonpositive(logit_of(mine) - largest) : 0.0f;
    if (!p.share_of_all) sum = sum_of_lanes(share);
    const int64 at = token * p.top_k + arch::lane();
    arch::store_if(ranked, p.weights, at, share / sum * p.scale);
    arch::store_if(ranked, p.ids, at, id);
  }

 private:
  static void weigh_scores(const Params& p, int64 token, uint32 (&orders)[kEach]) {
    const bool by_groups = p.groups_kept < p.groups;
    // Else by the order of logits, which scores near 1 lose to rounding.
    if (p.bias != nullptr || by_groups) order_by_scores(p, orders);
    if (by_groups) keep_groups(p, orders);
    uint32 mine = 0;
    int id = 0;
    choose(p, orders, mine, id);
    const bool holds = arch::lane() < p.top_k;
    const float score = holds ? score_of(p.score, to_float(logit(p, token, id))) : 0.0f;
    const float divisor = p.renormalize ? sum_of_lanes(score) + 1e-20f : 1.0f;
    const int64 at = token * p.top_k + arch::lane();
    arch::store_if(holds, p.weights, at, score / divisor * p.scale);
    arch::store_if(holds, p.ids, at, id);
  }

  static void order_by_scores(const Params& p, uint32 (&orders)[kEach]) {
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (orders[i] == 0) continue;
      const float score = score_of(p.score, logit_of(orders[i]));
      orders[i] = order_of(p.bias == nullptr ? score : score + arch::load(p.bias, expert(i)));
    }
  }

  /// Experts of other groups than the kept ones have no order: those of the largest sums of their two largest, the
  /// lower group first where two are equal. Lane g has group g's sum.
  static void keep_groups(const Params& p, uint32 (&orders)[kEach]) {
    int group[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) group[i] = expert(i) / p.group_experts;
    uint32 sum = 0;
    for (int g = 0; g < p.groups; ++g) {
      uint32 of_group[kEach];
#pragma unroll
      for (int i = 0; i < kEach; ++i) of_group[i] = group[i] == g ? orders[i] : 0;
      const uint32 first = arch::warp_max(largest_of(of_group));
      take_lowest(of_group, first);
      const uint32 second = arch::warp_max(largest_of(of_group));
      const float both = logit_of(first) + (p.group_experts > 1 ? logit_of(second) : 0.0f);
      if (arch::lane() == g) sum = order_of(both);
    }
    uint32 kept = 0;
    for (int i = 0; i < p.groups_kept; ++i) {
      const uint32 best = arch::warp_max(sum);
      const int first_group = arch::warp_min(sum == best ? arch::lane() : kMaxGroups);
      kept |= 1u << first_group;
      if (arch::lane() == first_group) sum = 0;
    }
#pragma unroll
    for (int i = 0; i < kEach; ++i) orders[i] = group[i] < p.groups && (kept >> group[i] & 1u) ? orders[i] : 0;
  }

  /// Lane r gets the order and the id of rank r.
  static void choose(const Params& p, uint32 (&orders)[kEach], uint32& mine, int& id) {
    for (int rank = 0; rank < p.top_k; ++rank) {
      const uint32 order = arch::warp_max(largest_of(orders));
      const int chosen = take_lowest(orders, order);
      if (arch::lane() == rank) mine = order, id = chosen;
    }
  }

  static constexpr int expert(int i) { return i * 32 + arch::lane(); }
  static bool exists(const Params& p, int expert) { return expert < p.experts; }

  static float to_float(float x) { return x; }
  template <class Half>
  static float to_float(Half x) {
    return arch::widen(x);
  }

  static T logit(const Params& p, int64 token, int expert) {
    return arch::load(static_cast<const T*>(p.logits), token * p.logits_row + expert);
  }

  /// 0 where there is no expert. All loads first, which then wait for the memory together: what comes after one depends
  /// on NaN.
  static void read(const Params& p, int64 token, uint32 (&orders)[kEach]) {
    T logits[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) logits[i] = exists(p, expert(i)) ? logit(p, token, expert(i)) : T{};
#pragma unroll
    for (int i = 0; i < kEach; ++i) orders[i] = exists(p, expert(i)) ? order_of(to_float(logits[i])) : 0;
  }

  static uint32 largest_of(const uint32 (&orders)[kEach]) {
    uint32 largest = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) largest = orders[i] > largest ? orders[i] : largest;
    return largest;
  }

  /// The lowest id of that order in the warp, which is no choice any more.
  static int take_lowest(uint32 (&orders)[kEach], uint32 order) {
    int lowest = C.experts;
#pragma unroll
    for (int i = kEach - 1; i >= 0; --i) lowest = orders[i] == order ? expert(i) : lowest;
    lowest = arch::warp_min(lowest);
#pragma unroll
    for (int i = 0; i < kEach; ++i) orders[i] = expert(i) == lowest ? 0 : orders[i];
    return lowest;
  }

  static float sum_of_all(const uint32 (&orders)[kEach], float largest) {
    float sum = 0.0f;
#pragma unroll
    for (int i = 0; i < kEach; ++i) sum += orders[i] == 0 ? 0.0f : exp_nonpositive(logit_of(orders[i]) - largest);
    return sum_of_lanes(sum);
  }

  static float sum_of_lanes(float x) {
#pragma unroll
    for (int mask = 16; mask > 0; mask /= 2) x += arch::shuffle_xor(x, mask);
    return x;
  }
};

}  // namespace flashfit
