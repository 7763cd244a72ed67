#pragma once
// The router of a mixture of experts: each token's top k of `experts` logits, and their weights (docs/routing.md).
// A warp owns a token, a lane every 32nd of its logits, as numbers in the order of choice (logit_order.hpp). top_k
// times: the warp's largest, the lowest id among equal ones; that lane drops it. Lane r keeps the choice of rank r.
// Then with m the largest logit
//   weight_r = exp(logit_r - m) / sum of exp(logit - m),
// the sum over all experts or over the chosen ones. Every sum is taken in one order: results are the same in each run.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/route/config.hpp"
#include "kernels/moe/route/exp.cuh"
#include "kernels/moe/route/logit_order.hpp"

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
    const int64 token = int64(arch::block().x) * C.warps + arch::warp();
    if (token >= p.tokens) return;
    uint32 orders[kEach];
    read(p, token, orders);
    const float largest = logit_of(arch::warp_max(largest_of(orders)));
    float sum = p.share_of_all ? sum_of_all(orders, largest) : 0.0f;

    uint32 mine = 0;
    int id = 0;
    for (int rank = 0; rank < p.top_k; ++rank) {
      const uint32 order = arch::warp_max(largest_of(orders));
      const int chosen = take_lowest(orders, order);
      if (arch::lane() == rank) mine = order, id = chosen;
    }
    const bool ranked = arch::lane() < p.top_k;
    const float share = ranked ? exp_nonpositive(logit_of(mine) - largest) : 0.0f;
    if (!p.share_of_all) sum = sum_of_lanes(share);
    const int64 at = token * p.top_k + arch::lane();
    arch::store_if(ranked, p.weights, at, share / sum);
    arch::store_if(ranked, p.ids, at, id);
  }

 private:
  static constexpr int expert(int i) { return i * 32 + arch::lane(); }

  static float to_float(float x) { return x; }
  template <class Half>
  static float to_float(Half x) {
    return arch::widen(x);
  }

  /// 0 where there is no expert.
  static void read(const Params& p, int64 token, uint32 (&orders)[kEach]) {
    const T* const logits = static_cast<const T*>(p.logits);
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      orders[i] = expert(i) < p.experts ? order_of(to_float(arch::load(logits, token * p.logits_row + expert(i)))) : 0;
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
