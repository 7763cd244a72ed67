#pragma once
// In which order the persistent blocks over wgmma compute tiles of query rows: the plan's choice. Host only.
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Tiles of one length see about as many keys, each of them.
constexpr bool tiles_cost_the_same(const ForwardProblem& p) { return !p.causal || p.window_left >= 0; }

/// Limits are those of an H100, whose L2 has 50 MB, where each order was timed (docs/hopper-kernel.md).
constexpr WorkOrder work_order(const ForwardConfig& c, const ForwardProblem& p) {
  // The blocks count heads, not packs of them, where they take a sequence's heads one after another.
  if (p.variable_length && c.packs) return WorkOrder::kAsNumbered;
  if (p.variable_length) return tiles_cost_the_same(p) ? WorkOrder::kByHead : WorkOrder::kAsNumbered;
  if (tiles_cost_the_same(p)) return WorkOrder::kAsNumbered;
  // Neighbours then compute the long and the short tiles of a head at the same time: some multiply while others copy.
  constexpr std::int64_t kFewOfAHead = 8;
  const std::int64_t tiles = (p.seqlen_q + c.block_m - 1) / c.block_m;
  if (c.warps == 8 && tiles <= kFewOfAHead) return WorkOrder::kAsNumbered;
  const std::int64_t heads = p.batch * p.heads_kv;
  if (p.head_dim + p.head_dim_v <= 256) {
    constexpr std::int64_t kFewTiles = 4 * 132;
    const bool few = p.heads_q == p.heads_kv && heads * tiles <= kFewTiles;
    return few ? WorkOrder::kLongestFirst : WorkOrder::kPairsThenLongest;
  }
  constexpr std::int64_t kBytesAtOnce = 32 << 20, kHeadsAtOnce = 20;
  const std::int64_t bytes = heads * p.seqlen_k * (p.head_dim + p.head_dim_v) * size_of(p.dtype);
  return bytes <= kBytesAtOnce || heads <= kHeadsAtOnce ? WorkOrder::kLongestFirst : WorkOrder::kPairsThenLongest;
}

}  // namespace flashfit
