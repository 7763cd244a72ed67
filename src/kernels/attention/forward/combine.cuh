#pragma once
// The second launch of a call whose keys were split: one row of the output from its parts, by a warp.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/row_end.cuh"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/schedule.cuh"
#include "kernels/attention/softmax.cuh"

namespace flashfit {

template <ForwardConfig C>
void combine(const ForwardParams& p) {
  using T = Element<C.dtype>;
  constexpr int kColumns = C.head_dim_v / 32;  // of a lane: lane, lane + 32, ...
  const int64 rows = int64{p.cu_seqlens_q == nullptr ? p.batch : 1} * p.seqlen_q;
  const int64 item = int64{arch::block().x} * combined_rows(C) + arch::warp();
  if (item >= rows * p.heads.by) return;
  const int64 row_of_all = item / p.heads.by;
  // Rows after the last sequence are nobody's: no part wrote them.
  if (p.cu_seqlens_q != nullptr && row_of_all >= bounded_offset(p.cu_seqlens_q, p.batch, p.seqlen_q)) return;
  const int head = static_cast<int>(item % p.heads.by), lane = arch::lane();

  // Parts are read several at once: each read takes the memory's whole latency, and a row has up to 64.
  float top = kNoBase;
#pragma unroll 8
  for (int s = 0; s < p.splits; ++s)
    top = arch::max(top, arch::load(p.partial_lse, partial_row<C.head_dim_v>(p, s, row_of_all, head).lse));
  float sum = 0, o[kColumns] = {};
#pragma unroll 4
  for (int s = 0; s < p.splits; ++s) {
    const PartialRow part = partial_row<C.head_dim_v>(p, s, row_of_all, head);
    const float weight = arch::exp2(arch::load(p.partial_lse, part.lse) - top);
    sum += weight;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) o[i] += weight * arch::load(p.partial_o, part.o + lane + 32 * i);
  }
  const RowEnd end = end_of_row(top, sum, sink_of(p, head));
  const int64 sequence = p.cu_seqlens_q == nullptr ? row_of_all / p.seqlen_q : 0;
  const int64 row = row_of_all - sequence * p.seqlen_q;
  const int64 o_at = sequence * p.o_batch + row * p.o_row + head * p.o_head;
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    arch::store_if(lane + 32 * i < p.head_dim_v, static_cast<T*>(p.o), o_at + lane + 32 * i,
                   T{static_cast<unsigned short>(arch::pack<T>(o[i] * end.factor, 0.f))});
  arch::store_if(lane == 0 && p.lse != nullptr, p.lse, sequence * p.lse_batch + head * p.lse_head + row,
                 end.lse_log2 * kLn2);
}

}  // namespace flashfit
