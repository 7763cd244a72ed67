#pragma once
// Fused attention forward over mma.sync (docs/kernels.md derives it).
// A block owns block_m query rows of one head, a warp block_m / warps of them. K and V tiles stream through rings of
// `stages` slots. Per key tile:
//   S = Q K^T;  where a score passes its row's base b by much: b' = max S c;  P = exp2(S c - b');
//   l = l exp2(b - b') + rowsum P;  O = O exp2(b - b') + P V.
// At the end O / l is stored, and LSE = (b + log2 l) ln 2. Only tiles that a mask's edge or the last key crosses are
// masked, and none that no row sees is visited. Tensor cores are kept busy: copies are issued between the products of
// Q K^T, weights are computed between those of P V.
#include "arch/arch.hpp"
#include "attention/combine.cuh"
#include "attention/config.hpp"
#include "attention/mask.cuh"
#include "attention/repair.cuh"
#include "attention/row_end.cuh"
#include "attention/schedule.cuh"
#include "attention/score.cuh"
#include "attention/softmax.cuh"
#include "tile/copy.cuh"
#include "tile/matmul.cuh"

namespace flashfit {

template <ForwardConfig C>
struct ForwardKernel {
  static_assert(forward_config_error(C) == nullptr);
  using Params = ForwardParams;
  using T = Element<C.dtype>;
  static_assert(arch::kHas<T>, "bf16 needs compute capability 8.0");
  using TileQ = SwizzledTile<T, C.block_m, C.head_dim>;
  using TileK = SwizzledTile<T, C.block_n, C.head_dim>;
  using TileV = SwizzledTile<T, C.block_n, C.head_dim_v>;
  using TileO = SwizzledTile<T, C.block_m, C.head_dim_v>;
  struct Shared {
    union {
      TileQ q;
      TileO o;  ///< on its way out, when q is no longer needed
    };
    TileK k[C.stages];
    TileV v[C.stages];
  };
  static_assert(sizeof(Shared) == forward_shared_bytes(C));

  static constexpr int kThreads = forward_threads(C);
  static constexpr int kMinBlocks = C.min_blocks;
  static constexpr bool kGeneral = C.kind == ForwardKind::kGeneral;
  static constexpr int kWarpRows = C.block_m * C.column_warps / C.warps;
  static_assert(kWarpRows <= 32, "finish() keeps a bit a row");
  static constexpr int kM = kWarpRows / 16;                       // m16 tiles of a warp
  static constexpr int kN = C.block_n / 8;                        // n8 tiles of scores
  static constexpr int kColumns = C.head_dim_v / C.column_warps;  // of the output, a warp's
  static constexpr int kD = kColumns / 8;                         // n8 tiles of output
  static constexpr int kSteps = C.head_dim / 16;
  // Q stays in registers where they suffice for its fragments, scores, outputs and, as compiled kernels show, 36 and 12
  // an m16 tile for the rest; else it is read again for each tile.
  static constexpr int kRegisters = 65536 / (kThreads * kMinBlocks) < 255 ? 65536 / (kThreads * kMinBlocks) : 255;
  static constexpr bool kHoldsQ = kM * 4 * (kSteps + kN + kD) + 36 + 12 * kM <= kRegisters && !kGeneral;
  static constexpr int kPending = C.stages - 2;  // groups of copies that tile j need not wait for
  using CopyK = TileCopy<T, TileK, kThreads>;
  using CopyV = TileCopy<T, TileV, kThreads>;

  static void run(const Params& p) {
    if (p.combine != 0) return combine<C>(p);
    const Work work = find_work<C.block_m>(p);
    if (work.queries == 0) return;
    Shared& s = arch::shared<Shared>();
    const int kv_head = work.head / p.group;
    const T* g_q = work.row_of(static_cast<const T*>(p.q), p.q_batch, p.q_row, p.q_head, work.head, work.q_offset);
    const T* g_k = work.row_of(static_cast<const T*>(p.k), p.k_batch, p.k_row, p.k_head, kv_head, work.k_offset);
    const T* g_v = work.row_of(static_cast<const T*>(p.v), p.v_batch, p.v_row, p.v_head, kv_head, work.k_offset);
    const Visibility visible(p, work.queries, work.keys);
    const int warp_row = work.first_row + first_warp_row();
    const int end_row = work.first_row + C.block_m < work.queries ? work.first_row + C.block_m : work.queries;
    const TileRange tiles = tiles_of(work, p, visible.first(work.first_row), visible.last(end_row - 1), C.block_n);
    const int keys =
        visible.count(end_row - 1) < tiles.end * C.block_n ? visible.count(end_row - 1) : tiles.end * C.block_n;
    // Of the warp's rows: the end of the tiles that one of them sees, and of those that each sees to the end.
    const int seen = (visible.count(warp_row + kWarpRows - 1) + C.block_n - 1) / C.block_n;
    const int whole = visible.count(warp_row) / C.block_n;

    TileCopy<T, TileQ, kThreads> copy_q(g_q, p.q_row, work.queries, p.head_dim, work.first_row);
    CopyK copy_k(g_k, p.k_row, keys, p.head_dim, tiles.begin * C.block_n);
    CopyV copy_v(g_v, p.v_row, keys, p.head_dim_v, tiles.begin * C.block_n);
    copy_tile(p, copy_q, s.q);
#pragma unroll
    for (int j = 0; j < C.stages - 1; ++j) {
      copy_tile(p, copy_k, s.k[(tiles.begin + j) % C.stages]);
      copy_tile(p, copy_v, s.v[(tiles.begin + j) % C.stages]);
      arch::cp_async_commit();
    }

    const SharedA<TileQ> shared_q(s.q, first_warp_row());
    RegisterA<kM, kSteps> held_q;
    if constexpr (kHoldsQ) {
      arch::cp_async_wait<kPending>();
      arch::sync_block();
      held_q.load_all(shared_q);
    }
    const float scale_log2 = kGeneral ? 1.f : p.softmax_scale * kLog2E;
    float o[kM][kD][4] = {};
    RowState rows[kM][2];
    for (int j = tiles.begin; j < tiles.end; ++j) {
      arch::cp_async_wait<kPending>();
      arch::sync_block();  // tile j is there for all; all have left the slot that is filled next
      const int slot = j % C.stages, next = (j + C.stages - 1) % C.stages;
      const TileK& k = s.k[slot];
      const TileV& v = s.v[slot];
      const auto copy_some = [&](int i, int of) {
        copy_k.part(s.k[next], i, of);
        copy_v.part(s.v[next], i, of);
        if (i + 1 == of) arch::cp_async_commit();  // long before the wait for it: a group takes its time to close
      };
      if constexpr (kGeneral) {
        copy_tile(p, copy_k, s.k[next]);
        copy_tile(p, copy_v, s.v[next]);
        arch::cp_async_commit();
        if (j >= seen) continue;
      } else if (j >= seen) {
        copy_some(0, 1);
        continue;
      }
      float scores[kM][kN][4] = {};
      const auto copy_between = [&](int i) {
        // Copies that are waited for are better issued together than one by one.
        constexpr int kParts = arch::kCopiesAreAsync ? kSteps * kN / 2 : 1;
        if (!kGeneral && i < kParts) copy_some(i, kParts);
      };
      if constexpr (kHoldsQ)
        multiply_abt<T>(scores, held_q, k, copy_between);
      else
        multiply_abt<T>(scores, shared_q, k, copy_between);
      if constexpr (kGeneral) score_tile(scores, warp_row, j * C.block_n, Scoring<T>(p, work));
      if (j >= whole || !visible.sees_from(warp_row + kWarpRows - 1, j * C.block_n))
        mask(scores, warp_row, j * C.block_n, visible);
      if (exceeds_base(scores, rows, scale_log2)) follow_maximum(scores, o, rows, scale_log2);
      uint32 weights[kM][kN][2];
      const auto weigh_some = [&](int first, int last) { weigh<T>(weights, scores, rows, scale_log2, first, last); };
      constexpr int kPairs = kScorePairs<kM, kN>, kFirst = kPairs / (kN / 2), kGroups = kN * kD / 4;
      weigh_some(0, kFirst);  // of 16 keys, what one step of P V takes; then of the next 16 while it runs
      multiply_pb<T>(o, weights, v, first_column(), [&](int i) {
        weigh_some(clamp(kFirst + kPairs * i / kGroups, 0, kPairs),
                   clamp(kFirst + kPairs * (i + 1) / kGroups, 0, kPairs));
      });
    }
    arch::cp_async_wait<0>();
    arch::sync_block();  // nothing is on its way into Q, where the output goes next
    finish(s.o, o, rows, p);
  }

 private:
  /// Of the tile's rows and of V's columns, the first that the warp has.
  static int first_warp_row() { return arch::warp() / C.column_warps * kWarpRows; }
  static int first_column() { return C.column_warps == 1 ? 0 : arch::warp() % C.column_warps * kColumns; }

  template <class Copy, class Tile>
  static void copy_tile(const Params& p, Copy& copy, Tile& s_tile) {
    if (kGeneral && p.unaligned != 0)
      copy.start_elements(s_tile);
    else
      copy.start(s_tile);
  }

  /// Stores the warp's rows, and mends those that repair.cuh speaks of. Where they lie is found again: kept through the
  /// loop, it would cost 10 registers a thread.
  static void finish(TileO& s_o, const float (&o)[kM][kD][4], const RowState (&rows)[kM][2], const Params& p) {
    const Work work = find_work<C.block_m>(p);
    const int warp_row = work.first_row + first_warp_row();
    const int first_col = first_column(), lane = arch::lane();
    const float sink = sink_of(p, work.head);
    uint32 broken = 0;  // bit r: the warp's row r has an output that is not finite
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = warp_row + m * 16 + AccumulatorMap::row(lane, 2 * h);
        const float sum = row_sum(rows[m][h].sum);
        const RowEnd end = end_of_row(rows[m][h].base, sum, sink);
        bool finite = true;
#pragma unroll
        for (int n = 0; n < kD; ++n) finite &= is_finite(o[m][n][2 * h]) && is_finite(o[m][n][2 * h + 1]);
        // Four lanes hold a row. One whose own scores are no numbers has no numbers to give.
        const uint32 lanes = arch::ballot(hides_keys(p) && row < work.queries && is_finite(sum) && !finite);
#pragma unroll
        for (int r = 0; r < 8; ++r) broken |= uint32((lanes >> 4 * r & 15) != 0) << (m * 16 + h * 8 + r);
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
            arch::store_shared(s_o.data,
                               TileO::offset(row - work.first_row, first_col + n * 8 + AccumulatorMap::col(lane, 0)),
                               arch::pack<T>(o[m][n][2 * h] * end.factor, o[m][n][2 * h + 1] * end.factor));
          const int64 lse_at = work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset + row;
          arch::store_if(first_lane && first_col == 0 && p.lse != nullptr, p.lse, lse_at, end.lse_log2 * kLn2);
        }
      }
    if (p.splits == 1) store_rows(s_o, work, broken, p);
    if (broken == 0) return;
    arch::sync_warp();  // of parts, other lanes have stored these rows already
    const Visibility visible(p, work.queries, work.keys);
#pragma unroll 1
    for (int r = 0; r < kWarpRows; ++r) {
      if ((broken >> r & 1) == 0) continue;
      const int first = visible.first(warp_row + r), last = visible.last(warp_row + r);
      const TileRange tiles = tiles_of(work, p, first, last, C.block_n);
      const int low = tiles.begin * C.block_n, high = tiles.end * C.block_n - 1;
      attend_row<C, kColumns>(p, work, warp_row + r, first > low ? first : low, last < high ? last : high, first_col);
    }
  }

  /// The warp's rows from shared memory to the output, but for the broken ones.
  static void store_rows(const TileO& s_o, const Work& work, uint32 broken, const Params& p) {
    T* g_o = work.row_of(static_cast<T*>(p.o), p.o_batch, p.o_row, p.o_head, work.head, work.q_offset);
    const int first_row = first_warp_row(), first_col = first_column(), lane = arch::lane();
    arch::sync_warp();
    if (kGeneral && p.unaligned != 0) {
#pragma unroll 1
      for (int r = 0; r < kWarpRows; ++r) {
        const int row = first_row + r;
        const bool whole = work.first_row + row < work.queries && (broken >> r & 1) == 0;
#pragma unroll 1
        for (int col = first_col + lane; col < first_col + kColumns; col += 32)
          arch::store_if(whole && col < p.head_dim_v, g_o, (work.first_row + row) * p.o_row + col,
                         arch::load_shared(s_o.data, TileO::offset(row, col)));
      }
      return;
    }
    constexpr int kChunks = kColumns / 8;  // of a row, 16 bytes each
    static_assert(kWarpRows * kChunks % 32 == 0);
#pragma unroll
    for (int i = 0; i < kWarpRows * kChunks; i += 32) {
      const int r = (i + lane) / kChunks, col = first_col + (i + lane) % kChunks * 8, row = first_row + r;
      const bool whole = work.first_row + row < work.queries && (broken >> r & 1) == 0;
      arch::store_if(whole && col < p.head_dim_v, g_o, (work.first_row + row) * p.o_row + col,
                     arch::load_shared<Bytes16>(s_o.data, TileO::offset(row, col)));
    }
  }
};

}  // namespace flashfit
