#pragma once
// Rows under a causal mask that a value which is not finite reached without being seen. A tensor core multiplies a
// masked key's weight of 0 with its value all the same, and 0 * NaN is NaN. It shows in the output, so that the main
// loop need not look; such a row is then computed again, one key at a time and none that it does not see.
#include "arch/arch.hpp"
#include "attention/config.hpp"
#include "attention/schedule.cuh"
#include "attention/softmax.cuh"

namespace flashfit {

/// Computes one row by one warp and stores it. `last`: the last key that the row sees, at least 0. All 32 lanes call
/// it.
template <class T, int HeadDim>
void attend_row(const ForwardParams& p, const Work& work, int row, int last) {
  constexpr int kColumns = HeadDim / 32;  // of a lane: lane, lane + 32, ...
  const int kv_head = work.head / p.group;
  const T* g_q = work.row_of(static_cast<const T*>(p.q), p.q_batch, p.q_row, p.q_head, work.head, work.q_offset);
  const T* g_k = work.row_of(static_cast<const T*>(p.k), p.k_batch, p.k_row, p.k_head, kv_head, work.k_offset);
  const T* g_v = work.row_of(static_cast<const T*>(p.v), p.v_batch, p.v_row, p.v_head, kv_head, work.k_offset);
  T* g_o = work.row_of(static_cast<T*>(p.o), p.o_batch, p.o_row, p.o_head, work.head, work.q_offset);
  const int lane = arch::lane();
  float q[kColumns], o[kColumns] = {};
#pragma unroll
  for (int i = 0; i < kColumns; ++i) q[i] = arch::widen(arch::load(g_q, row * p.q_row + lane + 32 * i));
  const float scale_log2 = p.softmax_scale * kLog2E;
  RowState state;
#pragma unroll 1
  for (int key = 0; key <= last; ++key) {
    float score = 0;
#pragma unroll
    for (int i = 0; i < kColumns; ++i) score += q[i] * arch::widen(arch::load(g_k, key * p.k_row + lane + 32 * i));
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) score += arch::shuffle_xor(score, distance);
    const float base = arch::max(state.base, score * scale_log2);
    const float decay = arch::exp2(state.base - base), weight = arch::exp2(score * scale_log2 - base);
    state = {base, state.sum * decay + weight};
#pragma unroll
    for (int i = 0; i < kColumns; ++i)
      o[i] = o[i] * decay + weight * arch::widen(arch::load(g_v, key * p.v_row + lane + 32 * i));
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i)
    arch::store_if(true, g_o, row * p.o_row + lane + 32 * i,
                   T{static_cast<unsigned short>(arch::pack<T>(o[i] / state.sum, 0.f))});
}

}  // namespace flashfit
