#pragma once
// The end of a row: from the softmax's base and sum to the factor of its output and its LSE.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/score.cuh"

namespace flashfit {

struct RowEnd {
  float factor;    ///< of what was summed against the base
  float lse_log2;  ///< log2 of the sum of exp2(score)
};

/// `sum` is over exp2(score - base); -inf is no sink. A row without keys gives 0, and its sink as LSE.
inline RowEnd end_of_row(float base, float sum, float sink_log2) {
  const float top = arch::max(base, sink_log2);
  const float decay = arch::exp2(base - top), total = sum * decay + arch::exp2(sink_log2 - top);
  return {total == 0.f ? 0.f : decay * arch::reciprocal(total),
          total == 0.f ? kMinusInfinity : top + arch::log2(total)};
}

/// The head's sink in units of log2. Of parts of a row it is none: they are given it once, when they are combined.
inline float sink_of(const ForwardParams& p, int head) {
  return p.splits == 1 && p.sinks != nullptr ? arch::load(p.sinks, head) * kLog2E : kMinusInfinity;
}

inline constexpr float kLn2 = 0.693147180559945309f;

/// Where the results of a part of a row lie.
struct PartialRow {
  int64 o, lse;  ///< first element of its columns, of partial_o; element of partial_lse
};
template <int HeadDimV>
PartialRow partial_row(const ForwardParams& p, int split, int64 row_of_all, int head) {
  const int64 rows = int64{p.cu_seqlens_q == nullptr ? p.batch : 1} * p.seqlen_q;
  const int64 at = (split * rows + row_of_all) * p.heads.by + head;
  return {at * HeadDimV, at};
}

}  // namespace flashfit
