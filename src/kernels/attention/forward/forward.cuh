#pragma once
// Fused attention forward over mma.sync (docs/kernels.md derives it).
// A block owns block_m query rows of one head, a warp block_m / warps of them. K and V tiles stream through rings of
// `stages`. Per key tile:
//   S = Q K^T;  where a score passes its row's base b by much: b' = max S c;  P = exp2(S c - b');
//   l = l exp2(b - b') + rowsum P;  O = O exp2(b - b') + P V.
// At the end O / l is stored, and LSE = (b + log2 l) ln 2. Only tiles that a mask's edge or the last key crosses are
// masked, and none that no row sees is visited. Copies are issued among the products of Q K^T; the compiler puts
// weights among those of P V.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/steps.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/attention/forward/warp_tile.cuh"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"
#include "kernels/attention/score.cuh"
#include "kernels/attention/softmax.cuh"
#include "kernels/tile/copy.cuh"
#include "kernels/tile/copy_rows.cuh"
#include "kernels/tile/matmul.cuh"

namespace flashfit {

template <ForwardConfig C>
struct ForwardKernel {
  static_assert(forward_config_error(C) == nullptr && C.engine == ForwardEngine::kMma);
  using Params = ForwardParams;
  using T = Element<C.dtype>;
  static_assert(arch::kHas<T>, "bf16 needs compute capability 8.0");
  using TileQ = SwizzledTile<T, C.block_m, C.head_dim>;
  using TileK = SwizzledTile<T, C.block_n, C.head_dim>;
  using TileV = SwizzledTile<T, C.block_n, C.head_dim_v>;
  using Warp = WarpTile<C>;
  struct Shared {
    union {
      TileQ q;
      typename Output<C>::Tile o;  ///< the epilogue's buffer, when q is no longer needed
    };
    TileK k[C.stages];
    TileV v[C.stages];
  };
  static_assert(sizeof(Shared) == forward_shared_bytes(C));

  static constexpr int kThreads = forward_threads(C);
  static constexpr int kMinBlocks = C.min_blocks;
  static constexpr bool kGeneral = C.kind == ForwardKind::kGeneral;
  using Rows = TileRows<C.packs>;
  static constexpr int kM = Warp::kRows / 16;    // m16 tiles of a warp
  static constexpr int kN = C.block_n / 8;       // n8 tiles of scores
  static constexpr int kD = Warp::kColumns / 8;  // n8 tiles of output
  static constexpr int kPending = C.stages - 2;  // groups of copies that tile j need not wait for
  using CopyK = TileCopy<T, TileK, kThreads>;
  using CopyV = TileCopy<T, TileV, kThreads>;

  static void run(const Params& p) {
    arch::wait_for_step_before();
    if (!attend(p, C.trusting)) attend(p, false);
  }

 private:
  /// The block's rows. False if bases were trusted to need no move after a row's first scores, and some should have
  /// moved: what is stored then is not the result.
  static bool attend(const Params& p, bool trusts) {
    const Work work = find_work<C.block_m, C.packs>(p, arch::block().x);
    if (work.queries == 0) return true;
    Shared& s = arch::shared<Shared>();
    const int kv_head = p.group.quotient(work.head);
    const T* g_q = work.row_of(static_cast<const T*>(p.q), p.q_batch, p.q_row, p.q_head, work.head, work.q_offset);
    const T* g_k = work.row_of(static_cast<const T*>(p.k), p.k_batch, p.k_row, p.k_head, kv_head, work.k_offset);
    const T* g_v = work.row_of(static_cast<const T*>(p.v), p.v_batch, p.v_row, p.v_head, kv_head, work.k_offset);
    const RowVisibility<C.packs> visible(p, work.queries, work.keys);
    const int warp_row = work.first_row + Warp::first_row(), rows_q = Rows::count(p, work.queries);
    const int end_row = work.first_row + C.block_m < rows_q ? work.first_row + C.block_m : rows_q;
    const TileRange tiles = tiles_of(p, visible.first(work.first_row), visible.last(end_row - 1), C.block_n);
    const int keys =
        visible.count(end_row - 1) < tiles.end * C.block_n ? visible.count(end_row - 1) : tiles.end * C.block_n;
    // Of the warp's rows: the end of the tiles that one of them sees, none if there is no query, and of those that each
    // sees to the end. (A product: where it was a choice, the loop's code came out 1 to 3 % slower.)
    const int seen_keys = visible.count(warp_row + Warp::kRows - 1) * (warp_row < rows_q ? 1 : 0);
    const int seen = (seen_keys + C.block_n - 1) / C.block_n;
    const int whole = visible.count(warp_row) / C.block_n;

    TileCopy<T, TileQ, kThreads> copy_q(g_q, p.q_row, work.queries, p.head_dim, work.first_row);
    CopyK copy_k(g_k, p.k_row, keys, p.head_dim, tiles.begin * C.block_n);
    CopyV copy_v(g_v, p.v_row, keys, p.head_dim_v, tiles.begin * C.block_n);
    if constexpr (C.packs) {
      copy_rows<kThreads>(s.q, g_q, rows_q - work.first_row, p.head_dim, [&](int row) {
        const int at = work.first_row + row;
        return Rows::query(p, at) * p.q_row + Rows::head(p, 0, at) * p.q_head;
      });
    } else {
      copy_tile(p, copy_q, s.q);
    }
    arch::cp_async_commit();
#pragma unroll
    for (int j = 0; j < C.stages - 1; ++j) {
      copy_tile(p, copy_k, s.k[(tiles.begin + j) % C.stages]);
      copy_tile(p, copy_v, s.v[(tiles.begin + j) % C.stages]);
      arch::cp_async_commit();
    }

    PartlyHeldA<TileQ, kM, C.held_steps> queries(SharedA(s.q, Warp::first_row()));
    if constexpr (C.held_steps > 0) {
      arch::cp_async_wait<C.stages - 1>();
      arch::sync_block();  // Q is there for all
      queries.hold();
    }
    const float scale_log2 = kGeneral ? 1.f : p.softmax_scale * kLog2E;
    float o[kM][kD][4] = {};
    RowState rows[kM][2];
    clear(rows);
    bool looks = true;  // at the scores, before they become weights
    for (int j = tiles.begin; j < tiles.end; ++j) {
      arch::cp_async_wait<kPending>();
      arch::sync_block();  // tile j is there for all; nobody reads the stage that is filled next any more
      const int stage = j % C.stages, next = (j + C.stages - 1) % C.stages;
      const TileK& k = s.k[stage];
      const TileV& v = s.v[stage];
      const auto copy_part = [&](int i, int of) {
        copy_k.part(s.k[next], i, of);
        copy_v.part(s.v[next], i, of);
        if (i + 1 == of) arch::cp_async_commit();  // long before the wait: closing a group takes time, too
      };
      if constexpr (kGeneral) {
        copy_tile(p, copy_k, s.k[next]);
        copy_tile(p, copy_v, s.v[next]);
        arch::cp_async_commit();
        if (j >= seen) continue;
      } else if (j >= seen) {
        copy_part(0, 1);
        continue;
      }
      float scores[kM][kN][4] = {};
      multiply_abt<T>(scores, queries, k, [&](int i) {
        // Copies that are waited for are better issued together than one by one.
        constexpr int kParts = arch::kCopiesAreAsync ? C.copy_parts : 1;
        if (!kGeneral && i < kParts) copy_part(i, kParts);
      });
      if constexpr (kGeneral) score_tile(scores, warp_row, j * C.block_n, Scoring<T, takes_biases(C)>(p, work));
      if (j >= whole || !visible.sees_from(warp_row + Warp::kRows - 1, j * C.block_n))
        mask(scores, warp_row, j * C.block_n, visible);
      uint32 weights[kM][kN][2];
      if constexpr (C.trusting) {
        if (looks) {
          if (exceeds_base<T>(scores, rows, scale_log2)) follow_maximum<T>(scores, o, rows, scale_log2);
          looks = !trusts || lacks_base(rows);
        }
        weigh<T, 0, kN>(weights, scores, rows, scale_log2);
      } else {
        weigh_checked<T, C.early_tiles>(weights, scores, o, rows, scale_log2);
      }
      multiply_pb<T>(o, weights, v, Warp::first_column());
    }
    arch::cp_async_wait<0>();
    // Q gives way to the output, a warp's rows to its own. Other warps read them too if they share rows, and may still
    // be copying them if no tile was waited for.
    if (C.column_warps > 1 || tiles.begin >= tiles.end) arch::sync_block();
    arch::sync_warp();
    // Where the rows lie is found again: kept through the loop, it would cost 10 registers a thread.
    Output<C>::store(s.o, o, rows, find_work<C.block_m, C.packs>(p, arch::block().x), p);
    return !trusts || !arch::sync_block_or(sums_exceed<T>(rows));
  }

  template <class Copy, class Tile>
  static void copy_tile(const Params& p, Copy& copy, Tile& s_tile) {
    if (kGeneral && p.unaligned != 0)
      copy.start_elements(s_tile);
    else
      copy.start(s_tile);
  }
};

}  // namespace flashfit
