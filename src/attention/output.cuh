#pragma once
// The end of a block's rows: outputs and LSE, or what a part of the keys gives of them, to global memory.
#include "arch/arch.hpp"
#include "attention/config.hpp"
#include "attention/mask.cuh"
#include "attention/repair.cuh"
#include "attention/row_end.cuh"
#include "attention/schedule.cuh"
#include "attention/softmax.cuh"
#include "attention/warp_tile.cuh"
#include "layout/fragment.hpp"
#include "layout/swizzle.hpp"

namespace flashfit {

/// Stores a warp's rows, and mends those that repair.cuh speaks of. Short sequences pay for each instruction here.
/// Where the rows lie is found again: kept through the main loop, it would cost 10 registers a thread.
template <ForwardConfig C>
class Output {
  using Params = ForwardParams;
  using T = Element<C.dtype>;
  using Warp = WarpTile<C>;
  static constexpr bool kGeneral = C.kind == ForwardKind::kGeneral;
  static constexpr int kM = Warp::kRows / 16, kD = Warp::kColumns / 8;
  static_assert(Warp::kRows <= 32, "a bit a row");

 public:
  using Tile = SwizzledTile<T, C.block_m, C.head_dim_v>;

  /// `o` and `rows` as the main loop left them; s_o is nobody's any more.
  static void store(Tile& s_o, const float (&o)[kM][kD][4], const RowState (&rows)[kM][2], const Params& p) {
    const Work work = find_work<C.block_m>(p);
    const int first_row = Warp::first_row(), first_col = Warp::first_column(), lane = arch::lane();
    const float sink = sink_of(p, work.head);
    const int at = Tile::offset(first_row + AccumulatorMap::row(lane, 0), first_col + AccumulatorMap::col(lane, 0));
    uint32 broken = 0;  // bit r: the warp's row r has an output that is not finite
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = work.first_row + first_row + m * 16 + AccumulatorMap::row(lane, 2 * h);
        const float sum = row_sum(rows[m][h].sum);
        const RowEnd end = end_of_row(rows[m][h].base, sum, sink);
        // One whose own scores are no numbers has no numbers to give.
        if (hides_keys(p)) {
          const bool breaks = row < work.queries && is_finite(sum) && !all_finite(o, m, h);
          if (const uint32 lanes = arch::ballot(breaks); lanes != 0) broken |= rows_of(lanes) << (m * 16 + h * 8);
        }
        const bool first_lane = row < work.queries && lane % 4 == 0;
        if (p.splits > 1) {
          const PartialRow part = partial_row<C.head_dim_v>(p, work.split(), work.row_of_all(p, row), work.head);
#pragma unroll
          for (int n = 0; n < kD; ++n)
#pragma unroll
            for (int i = 0; i < 2; ++i)
              arch::store_if(row < work.queries, p.partial_o, part.o + first_col + n * 8 + AccumulatorMap::col(lane, i),
                             o[m][n][2 * h + i] * end.factor);
          arch::store_if(first_lane && first_col == 0, p.partial_lse, part.lse, end.lse_log2);
        } else {
#pragma unroll
          for (int n = 0; n < kD; ++n)
            arch::store_shared(s_o.data, Tile::down(Tile::right(at, n * 8), m * 16 + h * 8),
                               arch::pack<T>(o[m][n][2 * h] * end.factor, o[m][n][2 * h + 1] * end.factor));
          const int64 lse_at = work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset + row;
          arch::store_if(first_lane && first_col == 0 && p.lse != nullptr, p.lse, lse_at, end.lse_log2 * kLn2);
        }
      }
    if (p.splits == 1) {
      arch::sync_warp();
      if (kGeneral && p.unaligned != 0)
        store_elements(s_o, work, first_row, first_col, p);
      else
        store_chunks(s_o, work, first_row, first_col, p);
    }
    if (broken != 0) mend(work, first_row, first_col, broken, p);
  }

 private:
  static bool all_finite(const float (&o)[kM][kD][4], int m, int h) {
    float zero = 0;  // 0 times what is not finite is NaN
#pragma unroll
    for (int n = 0; n < kD; ++n) zero = o[m][n][2 * h + 1] * 0.f + (o[m][n][2 * h] * 0.f + zero);
    return zero == 0.f;
  }
  /// Four lanes hold a row: bit r of the result is set if one of lanes 4 r .. 4 r + 3 is.
  static uint32 rows_of(uint32 lanes) {
    uint32 rows = 0;
#pragma unroll
    for (int r = 0; r < 8; ++r) rows |= uint32((lanes >> 4 * r & 15) != 0) << r;
    return rows;
  }

  static T* output_of(const Work& work, const Params& p) {
    return work.row_of(static_cast<T*>(p.o), p.o_batch, p.o_row, p.o_head, work.head, work.q_offset);
  }

  /// The warp's rows from shared memory to the output: 16 bytes a lane, whole rows of panels.
  static void store_chunks(const Tile& s_o, const Work& work, int first_row, int first_col, const Params& p) {
    constexpr int kChunks = Tile::kPanel / 8, kRowsAtOnce = 32 / kChunks;
    constexpr int kPlaces = 8 / kRowsAtOnce;  // the swizzle repeats after 8 rows
    static_assert(Warp::kColumns % Tile::kPanel == 0);
    const int r = arch::lane() / kChunks, col = first_col + arch::lane() % kChunks * 8;
    const int left = work.queries - work.first_row - first_row - r;  // rows from this lane's first one to the end
    T* g_o = output_of(work, p) + (work.first_row + first_row + r) * p.o_row + col;
    const int64 step = kRowsAtOnce * p.o_row;
    int at[kPlaces];
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) at[i] = Tile::offset(first_row + r + i * kRowsAtOnce, col);
#pragma unroll
    for (int i = 0; i < Warp::kRows; i += kRowsAtOnce) {
#pragma unroll
      for (int panel = 0; panel < Warp::kColumns; panel += Tile::kPanel)
        arch::store_if(i < left && col + panel < p.head_dim_v, g_o, panel,
                       arch::load_shared<Bytes16>(
                           s_o.data, Tile::down(Tile::right(at[i / kRowsAtOnce % kPlaces], panel), i / 8 * 8)));
      g_o += step;
    }
  }
  static void store_elements(const Tile& s_o, const Work& work, int first_row, int first_col, const Params& p) {
    T* g_o = output_of(work, p);
#pragma unroll 1
    for (int r = 0; r < Warp::kRows; ++r) {
      const int row = first_row + r;
      const bool inside = work.first_row + row < work.queries;
#pragma unroll 1
      for (int col = first_col + arch::lane(); col < first_col + Warp::kColumns; col += 32)
        arch::store_if(inside && col < p.head_dim_v, g_o, (work.first_row + row) * p.o_row + col,
                       arch::load_shared(s_o.data, Tile::offset(row, col)));
    }
  }

  static void mend(const Work& work, int first_row, int first_col, uint32 broken, const Params& p) {
    arch::sync_warp();  // other lanes have stored what these rows were
    const Visibility visible(p, work.queries, work.keys);
#pragma unroll 1
    for (int r = 0; r < Warp::kRows; ++r) {
      if ((broken >> r & 1) == 0) continue;
      const int row = work.first_row + first_row + r;
      const int first = visible.first(row), last = visible.last(row);
      const TileRange tiles = tiles_of(work, p, first, last, C.block_n);
      const int low = tiles.begin * C.block_n, high = tiles.end * C.block_n - 1;
      attend_row<C, Warp::kColumns>(p, work, row, first > low ? first : low, last < high ? last : high, first_col);
    }
  }
};

}  // namespace flashfit
