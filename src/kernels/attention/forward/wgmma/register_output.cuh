#pragma once
// The epilogue of a warp's rows where shared memory has one Q buffer: outputs go from registers to global memory, so
// that the next Q may be copied as soon as this one's last product is done.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/repair.cuh"
#include "kernels/attention/forward/row_end.cuh"
#include "kernels/attention/forward/warp_tile.cuh"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// Lane i of four neighbours has word i of each of four groups of 16 bytes; then it has all four words of group i.
inline Bytes16 gather_16_bytes(const uint32 (&of)[4]) {
  const bool odd = arch::lane() % 2 != 0, second = arch::lane() / 2 % 2 != 0;
  uint32 pairs[2][2];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32 own = odd ? of[2 * i + 1] : of[2 * i];
    const uint32 other = arch::shuffle_xor(odd ? of[2 * i] : of[2 * i + 1], 1);
    pairs[i][0] = odd ? other : own;
    pairs[i][1] = odd ? own : other;
  }
  uint32 words[4];
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32 own = second ? pairs[1][i] : pairs[0][i];
    const uint32 other = arch::shuffle_xor(second ? pairs[0][i] : pairs[1][i], 2);
    words[i] = second ? other : own;
    words[2 + i] = second ? own : other;
  }
  return {words[0], words[1], words[2], words[3]};
}

/// As Output of output.cuh, which stores through shared memory, for a warp's 16 rows of one head over all keys.
template <ForwardConfig C>
class RegisterOutput {
  using Params = ForwardParams;
  using T = Element<C.dtype>;
  using Warp = WarpTile<C>;
  static constexpr int kD8 = C.head_dim_v / 8;
  static_assert(!C.packs && C.kind != ForwardKind::kGeneral && Warp::kRows == 16 && kD8 % 4 == 0);

 public:
  static void store(const float (&o)[1][kD8][4], const RowState (&rows)[1][2], const Work& work, const Params& p) {
    const float sink = sink_of(p, work.head);
    const int lane = arch::lane(), first_row = work.first_row + Warp::first_row();
    float sums[2];
    RowEnd ends[2];
    bool is_past[2], is_broken[2] = {};
#pragma unroll
    for (int h = 0; h < 2; ++h) sums[h] = row_sum(rows[0][h].sum);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      ends[h] = end_of_row(rows[0][h].base, sums[h], sink);
      is_past[h] = is_past_most_base(rows[0][h].base);
    }
    if (hides_keys(p)) {
#pragma unroll
      for (int h = 0; h < 2; ++h) is_broken[h] = is_finite(sums[h]) && !all_finite(o, 0, h);
    }
    const int row = first_row + AccumulatorMap::row(lane, 0);
    T* const g_o = work.row_of(static_cast<T*>(p.o), p.o_batch, p.o_row, p.o_head, work.head, work.q_offset);
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const bool is_row = row + 8 * h < work.queries;
      const int col = lane % 4 * 8;
      const int64 at = (row + 8 * h) * p.o_row + col;
#pragma unroll
      for (int n = 0; n < kD8; n += 4) {
        uint32 words[4];
#pragma unroll
        for (int i = 0; i < 4; ++i)
          words[i] = arch::pack<T>(o[0][n + i][2 * h] * ends[h].factor, o[0][n + i][2 * h + 1] * ends[h].factor);
        arch::store_if(is_row && col + n * 8 < p.head_dim_v, g_o, at + n * 8, gather_16_bytes(words));
      }
      if (p.lse != nullptr)
        arch::store_if(is_row && lane % 4 == 0, p.lse,
                       work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset + row + 8 * h,
                       ends[h].lse_log2 * kLn2);
    }
    if (arch::ballot(is_past[0] || is_past[1] || is_broken[0] || is_broken[1]) != 0) [[unlikely]]
      mend(work, is_past, is_broken, p);
  }

 private:
  /// Computes rows again, and the LSE of those whose base is past kMostBase.
  static void mend(const Work& work, const bool (&is_past)[2], const bool (&is_broken)[2], const Params& p) {
    arch::sync_warp();  // other lanes have stored what these rows were
    const Visibility visible(p, work.queries, work.keys);
#pragma unroll 1
    for (int r = 0; r < Warp::kRows; ++r) {
      const uint32 lanes = 15u << r % 8 * 4;
      const bool past = (arch::ballot(r < 8 ? is_past[0] : is_past[1]) & lanes) != 0;
      const bool broken = (arch::ballot(r < 8 ? is_broken[0] : is_broken[1]) & lanes) != 0;
      const int row = work.first_row + Warp::first_row() + r;
      if ((past || broken) && row < work.queries)
        attend_row<C, C.head_dim_v>(p, work, row, visible.first(row), visible.last(row), 0, past);
    }
  }
};

}  // namespace flashfit
