#pragma once
// In which order blocks over wgmma take tiles of query rows: the plan's choice. Host only.
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Under a causal mask all blocks may read keys and values of all heads at once where these stay in L2, or where so few
/// heads are read that several blocks share each; for the last rounds alone also where heads are narrow or long. All
/// limits are of an H100, whose L2 has 50 MB (docs/hopper-kernel.md).
constexpr WorkOrder work_order(const ForwardProblem& p, bool packs) {
  constexpr std::int64_t kBytesAtOnce = 32 << 20, kHeadsAtOnce = 20, kNarrowHeadsAtOnce = 32, kLong = 2048;
  const bool cost_the_same = !p.causal || p.window_left >= 0;
  // The blocks count heads, not packs of them, where they take a sequence's heads one after another.
  if (p.variable_length && packs) return WorkOrder::kAsNumbered;
  if (p.variable_length) return cost_the_same ? WorkOrder::kByHead : WorkOrder::kAsNumbered;
  if (cost_the_same) return WorkOrder::kAsNumbered;
  const std::int64_t heads = p.batch * p.heads_kv;
  const std::int64_t bytes = heads * p.seqlen_k * (p.head_dim + p.head_dim_v) * size_of(p.dtype);
  const bool narrow = p.head_dim + p.head_dim_v <= 256;
  if (bytes <= kBytesAtOnce || heads <= (narrow ? kNarrowHeadsAtOnce : kHeadsAtOnce)) return WorkOrder::kLongestFirst;
  return narrow || p.seqlen_k >= kLong ? WorkOrder::kPairsThenLongest : WorkOrder::kPairs;
}

}  // namespace flashfit
