#pragma once
// The epilogue of a block's rows: outputs and LSE to global memory, with split-KV the partial ones of its keys.
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
#include "kernels/layout/swizzle.hpp"

namespace flashfit {

/// Stores a warp's rows, and mends those that repair.cuh speaks of. Short sequences pay for each instruction here.
template <ForwardConfig C>
class Output {
  using Params = ForwardParams;
  using T = Element<C.dtype>;
  using Warp = WarpTile<C>;
  static constexpr bool kGeneral = C.kind == ForwardKind::kGeneral;
  /// Scores are rounded before their base is subtracted: no base is too large.
  static constexpr bool kRoundsFirst = kGeneral || C.kind == ForwardKind::kBias;
  using Rows = TileRows<C.packs>;
  static constexpr int kM = Warp::kRows / 16, kD = Warp::kColumns / 8;
  static_assert(Warp::kRows <= 32, "a bit a row");

 public:
  using Tile = SwizzledTile<T, C.block_m, C.head_dim_v>;

  /// `o` and `rows` as the main loop left them; nobody reads the warp's rows of s_o any more. Reductions and logarithms
  /// of all rows come first, so that their latencies overlap; then one piece of code stores all of them.
  static void store(Tile& s_o, const float (&o)[kM][kD][4], const RowState (&rows)[kM][2], const Work& work,
                    const Params& p) {
    float sink = sink_of(p, work.head);
    float sums[kM][2];
    RowEnd ends[kM][2];
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) sums[m][h] = row_sum(rows[m][h].sum);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        if constexpr (C.packs) sink = sink_of(p, Rows::head(p, work.head, row_of(work, m, h)));
        ends[m][h] = end_of_row(rows[m][h].base, sums[m][h], sink);
      }
    const uint32 broken = hides_keys(p) ? broken_rows(o, sums, work, p) : 0;
    const uint32 past = kRoundsFirst ? 0 : rows_past_most_base(rows, work, p);
    if (p.splits > 1) {
      store_part(o, ends, work, p);
    } else {
      const int at = Tile::offset(Warp::first_row() + AccumulatorMap::row(arch::lane(), 0),
                                  Warp::first_column() + AccumulatorMap::col(arch::lane(), 0));
#pragma unroll
      for (int m = 0; m < kM; ++m)
#pragma unroll
        for (int h = 0; h < 2; ++h)
#pragma unroll
          for (int n = 0; n < kD; ++n)
            arch::store_shared(
                s_o.data, Tile::down(Tile::right(at, n * 8), m * 16 + h * 8),
                arch::pack<T>(o[m][n][2 * h] * ends[m][h].factor, o[m][n][2 * h + 1] * ends[m][h].factor));
      if (p.lse != nullptr) store_lse(ends, work, p);
      arch::sync_warp();
      if (kGeneral && p.unaligned != 0)
        store_elements(s_o, work, p);
      else
        store_chunks(s_o, work, p);
    }
    if ((broken | past) != 0) [[unlikely]]
      mend(work, broken | past, past, p);
  }

 private:
  /// The row that accumulator elements 2 h and 2 h + 1 of m16 tile m are of.
  static int row_of(const Work& work, int m, int h) {
    return work.first_row + Warp::first_row() + m * 16 + AccumulatorMap::row(arch::lane(), 2 * h);
  }
  static bool writes_lse(const Work& work, int row, const Params& p) {
    const bool first_columns = Warp::first_column() == 0;  // asked by all lanes together
    // Not by Rows::has(): NVRTC then compares the other way round, and the other kernels' code changes.
    const int rows = C.packs ? Rows::count(p, work.queries) : work.queries;
    return first_columns && row < rows && arch::lane() % 4 == 0;
  }

  static void store_lse(const RowEnd (&ends)[kM][2], const Work& work, const Params& p) {
    const int64 at = work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = row_of(work, m, h);
        arch::store_if(writes_lse(work, row, p), p.lse, at + Rows::head(p, 0, row) * p.lse_head + Rows::query(p, row),
                       ends[m][h].lse_log2 * kLn2);
      }
  }

  /// Of a part's row: neighbours in a lane's accumulators, stored at once.
  struct alignas(8) TwoColumns {
    float first, second;
  };
  static void store_part(const float (&o)[kM][kD][4], const RowEnd (&ends)[kM][2], const Work& work, const Params& p) {
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = row_of(work, m, h);
        const PartialRow part = partial_row<C.head_dim_v>(p, part_of_keys(), work.row_of_all(p, Rows::query(p, row)),
                                                          Rows::head(p, work.head, row));
#pragma unroll
        for (int n = 0; n < kD; ++n) {
          const float factor = ends[m][h].factor;
          arch::store_if(Rows::has(row, work.queries, p), p.partial_o,
                         part.o + Warp::first_column() + n * 8 + AccumulatorMap::col(arch::lane(), 0),
                         TwoColumns{o[m][n][2 * h] * factor, o[m][n][2 * h + 1] * factor});
        }
        arch::store_if(writes_lse(work, row, p), p.partial_lse, part.lse, ends[m][h].lse_log2);
      }
  }

  /// Bit r: the warp's row r has an output that is not finite. One whose own scores are no numbers has none to give.
  static uint32 broken_rows(const float (&o)[kM][kD][4], const float (&sums)[kM][2], const Work& work,
                            const Params& p) {
    uint32 broken = 0;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const bool breaks =
            Rows::has(row_of(work, m, h), work.queries, p) && is_finite(sums[m][h]) && !all_finite(o, m, h);
        if (const uint32 lanes = arch::ballot(breaks); lanes != 0) broken |= rows_of(lanes) << (m * 16 + h * 8);
      }
    return broken;
  }
  /// Bit r: the warp's row r has a base that is too large for the main loop.
  static uint32 rows_past_most_base(const RowState (&rows)[kM][2], const Work& work, const Params& p) {
    bool any = false;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) any |= is_past_most_base(rows[m][h].base);
    if (arch::ballot(any) == 0) return 0;
    uint32 past = 0;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h)
        past |=
            rows_of(arch::ballot(Rows::has(row_of(work, m, h), work.queries, p) && is_past_most_base(rows[m][h].base)))
            << (m * 16 + h * 8);
    return past;
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
  static void store_chunks(const Tile& s_o, const Work& work, const Params& p) {
    const int first_row = Warp::first_row(), first_col = Warp::first_column();
    constexpr int kChunks = Tile::kPanel / 8, kRowsAtOnce = 32 / kChunks;
    constexpr int kPlaces = 8 / kRowsAtOnce;  // the swizzle repeats after 8 rows
    static_assert(Warp::kColumns % Tile::kPanel == 0);
    const int r = arch::lane() / kChunks, col = first_col + arch::lane() % kChunks * 8;
    // rows from this lane's first one to the end
    const int left = Rows::count(p, work.queries) - work.first_row - first_row - r;
    T* g_o = output_of(work, p) + (C.packs ? 0 : (work.first_row + first_row + r) * p.o_row) + col;
    const int64 step = kRowsAtOnce * p.o_row;
    int at[kPlaces];
#pragma unroll
    for (int i = 0; i < kPlaces; ++i) at[i] = Tile::offset(first_row + r + i * kRowsAtOnce, col);
#pragma unroll
    for (int i = 0; i < Warp::kRows; i += kRowsAtOnce) {
      int64 row_at = 0;
      if constexpr (C.packs) {
        const int row = work.first_row + first_row + r + i;
        row_at = Rows::query(p, row) * p.o_row + Rows::head(p, 0, row) * p.o_head;
      }
#pragma unroll
      for (int panel = 0; panel < Warp::kColumns; panel += Tile::kPanel)
        arch::store_if(i < left && col + panel < p.head_dim_v, g_o, row_at + panel,
                       arch::load_shared<Bytes16>(
                           s_o.data, Tile::down(Tile::right(at[i / kRowsAtOnce % kPlaces], panel), i / 8 * 8)));
      if constexpr (!C.packs) g_o += step;
    }
  }
  static void store_elements(const Tile& s_o, const Work& work, const Params& p) {
    const int first_row = Warp::first_row(), first_col = Warp::first_column();
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

  /// Computes rows again: those whose bit is set in `broken`, and the LSE of those in `with_lse`, too.
  static void mend(const Work& work, uint32 broken, uint32 with_lse, const Params& p) {
    const int first_row = Warp::first_row(), first_col = Warp::first_column();
    arch::sync_warp();  // other lanes have stored what these rows were
    const RowVisibility<C.packs> visible(p, work.queries, work.keys);
#pragma unroll 1
    for (int r = 0; r < Warp::kRows; ++r) {
      if ((broken >> r & 1) == 0) continue;
      const int row = work.first_row + first_row + r;
      const int first = visible.first(row), last = visible.last(row);
      const TileRange tiles = tiles_of(p, first, last, C.block_n);
      const int low = tiles.begin * C.block_n, high = tiles.end * C.block_n - 1;
      const auto attend = [&](const Work& of_head, int query) {
        attend_row<C, Warp::kColumns>(p, of_head, query, first > low ? first : low, last < high ? last : high,
                                      first_col, (with_lse >> r & 1) != 0);
      };
      if constexpr (C.packs) {
        Work of_head = work;
        of_head.head = Rows::head(p, work.head, row);
        attend(of_head, Rows::query(p, row));
      } else {
        attend(work, row);
      }
    }
  }
};

}  // namespace flashfit
