#pragma once
// Rows that the main loop computes wrongly. It need not check for them, because the epilogue can tell. Each is then
// computed again, one key at a time, without the keys that it does not see. There are two kinds:
// - Rows that a NaN or an infinity in the value of a hidden key has reached: a tensor core multiplies the value by the
//   key's weight of 0 all the same, and 0 * NaN is NaN.
// - Rows with a base past kMostBase: a base is rounded, and what score * scale_log2 - base is off by then grows to
//   powers of two that weights cannot hold. Here a score is rounded before its base is subtracted.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/row_end.cuh"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/schedule.cuh"
#include "kernels/attention/score.cuh"
#include "kernels/attention/softmax.cuh"

namespace flashfit {

/// The largest base, in log2, that the main loop takes: it is rounded by at most 1 there.
inline constexpr float kMostBase = 0x1p24f;
inline bool is_past_most_base(float base) {
  return is_finite(base) && base > kNoBase && (base > kMostBase || base < -kMostBase);
}

/// Whether all of this lane's outputs of a row are.
template <int M, int N8>
bool all_finite(const float (&o)[M][N8][4], int m, int h) {
  float zero = 0;  // 0 times what is not finite is NaN
#pragma unroll
  for (int n = 0; n < N8; ++n) zero = o[m][n][2 * h + 1] * 0.f + (o[m][n][2 * h] * 0.f + zero);
  return zero == 0.f;
}

/// Computes columns first_col .. first_col + Cols - 1 of one row over keys first .. last, and stores them, with the
/// first columns its LSE if that is wanted. All 32 lanes of a warp call it.
template <ForwardConfig C, int Cols>
void attend_row(const ForwardParams& p, const Work& work, int row, int first, int last, int first_col, bool with_lse) {
  using T = Element<C.dtype>;
  constexpr int kDims = C.head_dim / 32, kColumns = Cols / 32;  // of a lane: lane, lane + 32, ...
  const int kv_head = p.group.quotient(work.head);
  const T* g_q = work.row_of(static_cast<const T*>(p.q), p.q_batch, p.q_row, p.q_head, work.head, work.q_offset);
  const T* g_k = work.row_of(static_cast<const T*>(p.k), p.k_batch, p.k_row, p.k_head, kv_head, work.k_offset);
  const T* g_v = work.row_of(static_cast<const T*>(p.v), p.v_batch, p.v_row, p.v_head, kv_head, work.k_offset);
  T* g_o = work.row_of(static_cast<T*>(p.o), p.o_batch, p.o_row, p.o_head, work.head, work.q_offset);
  const int lane = arch::lane();
  const Scoring<T, takes_biases(C)> scoring(p, work);
  float q[kDims], o[kColumns] = {};
#pragma unroll
  for (int i = 0; i < kDims; ++i) {
    const int dim = lane + 32 * i;
    q[i] = dim < p.head_dim ? arch::widen(arch::load(g_q, row * p.q_row + dim)) : 0.f;
  }
  RowState state = kEmptyRow;
#pragma unroll 1
  for (int key = first; key <= last; ++key) {
    float product = 0;
#pragma unroll
    for (int i = 0; i < kDims; ++i) {
      const int dim = lane + 32 * i;
      if (dim < p.head_dim) product += q[i] * arch::widen(arch::load(g_k, key * p.k_row + dim));
    }
#pragma unroll
    for (int distance = 16; distance > 0; distance /= 2) product += arch::shuffle_xor(product, distance);
    float scores[1] = {product};
    scoring(scores, row, [&](int) { return key; });
    const float score = scores[0];
    if (score == kMinusInfinity) continue;
    const float base = arch::max(state.base, score);
    const float decay = arch::exp2(state.base - base), weight = arch::exp2(score - base);
    state = {base, state.sum * decay + weight};
#pragma unroll
    for (int i = 0; i < kColumns; ++i) {
      const int col = first_col + lane + 32 * i;
      if (col < p.head_dim_v) o[i] = o[i] * decay + weight * arch::widen(arch::load(g_v, key * p.v_row + col));
    }
  }
  const RowEnd end = end_of_row(state.base, state.sum, sink_of(p, work.head));
  if (with_lse && first_col == 0) {
    if (p.splits > 1)
      arch::store_if(lane == 0, p.partial_lse,
                     partial_row<C.head_dim_v>(p, part_of_keys(), work.row_of_all(p, row), work.head).lse,
                     end.lse_log2);
    else
      arch::store_if(lane == 0 && p.lse != nullptr, p.lse,
                     work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset + row, end.lse_log2 * kLn2);
  }
#pragma unroll
  for (int i = 0; i < kColumns; ++i) {
    const int col = first_col + lane + 32 * i;
    const float value = o[i] * end.factor;
    if (p.splits > 1)
      arch::store_if(true, p.partial_o,
                     partial_row<C.head_dim_v>(p, part_of_keys(), work.row_of_all(p, row), work.head).o + col, value);
    else
      arch::store_if(col < p.head_dim_v, g_o, row * p.o_row + col,
                     T{static_cast<unsigned short>(arch::pack<T>(value, 0.f))});
  }
}

}  // namespace flashfit
