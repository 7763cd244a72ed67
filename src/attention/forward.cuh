#pragma once
// Fused attention forward over mma.sync (docs/kernels.md derives it).
// A block owns block_m query rows of one head, a warp block_m / warps of them. K and V tiles stream through a ring of
// `stages` slots. Per key tile:
//   S = Q K^T;  m' = max(m, rowmax S);  P = exp2((S - m') scale);  l = l exp2((m - m') scale) + rowsum P;  O = O
//   exp2((m - m') scale) + P V.
// At the end O / l is stored, and LSE = m scale + ln l. Only tiles that the
// mask's edge or the last key crosses are masked.
#include "arch/arch.hpp"
#include "attention/config.hpp"
#include "attention/mask.cuh"
#include "attention/repair.cuh"
#include "attention/schedule.cuh"
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
  using TileKV = SwizzledTile<T, C.block_n, C.head_dim>;
  struct Shared {
    TileQ q;
    struct Stage {
      TileKV k, v;
    } stage[C.stages];
  };
  static_assert(sizeof(Shared) == forward_shared_bytes(C));

  static constexpr int kThreads = forward_threads(C);
  static constexpr int kMinBlocks = C.min_blocks;
  static constexpr int kWarpRows = C.block_m / C.warps;
  static_assert(kWarpRows <= 32, "finish() keeps a bit a row");
  static constexpr int kM = kWarpRows / 16;  // m16 tiles of a warp
  static constexpr int kN = C.block_n / 8;   // n8 tiles of scores
  static constexpr int kD = C.head_dim / 8;  // n8 tiles of output

  static void run(const Params& p) {
    const Work work = find_work<C.block_m>(p);
    if (work.queries == 0) return;
    Shared& s = arch::shared<Shared>();
    const int kv_head = work.head / p.group;
    const T* g_q = work.row_of(static_cast<const T*>(p.q), p.q_batch, p.q_row, p.q_head, work.head, work.q_offset);
    const T* g_k = work.row_of(static_cast<const T*>(p.k), p.k_batch, p.k_row, p.k_head, kv_head, work.k_offset);
    const T* g_v = work.row_of(static_cast<const T*>(p.v), p.v_batch, p.v_row, p.v_head, kv_head, work.k_offset);
    const TileCopy<T, TileQ, kThreads> copy_q(g_q, p.q_row, work.queries);
    const TileCopy<T, TileKV, kThreads> copy_k(g_k, p.k_row, work.keys);
    const TileCopy<T, TileKV, kThreads> copy_v(g_v, p.v_row, work.keys);

    const Visibility visible(work.queries, work.keys, p.causal != 0);
    const int warp_row = work.first_row + arch::warp() * kWarpRows;
    const int end_row = work.first_row + C.block_m < work.queries ? work.first_row + C.block_m : work.queries;
    const int tiles = (visible.count(end_row - 1) + C.block_n - 1) / C.block_n;
    const int warp_tiles = (visible.count(warp_row + kWarpRows - 1) + C.block_n - 1) / C.block_n;
    const int whole_tiles = visible.count(warp_row) / C.block_n;  // seen whole by every row of the warp

    const auto start_tile = [&](int j) {
      if (j < tiles) {
        copy_k.start(s.stage[j % C.stages].k, j * C.block_n);
        copy_v.start(s.stage[j % C.stages].v, j * C.block_n);
      }
      arch::cp_async_commit();  // also when there is nothing left: waits count groups
    };

    copy_q.start(s.q, work.first_row);
#pragma unroll
    for (int j = 0; j < C.stages - 1; ++j) start_tile(j);

    float o[kM][kD][4] = {};
    RowState rows[kM][2];
    for (int j = 0; j < tiles; ++j) {
      arch::cp_async_wait<C.stages - 2>();
      arch::sync_block();  // tile j is there for all; all have left the slot that is filled next
      start_tile(j + C.stages - 1);
      if (j >= warp_tiles) continue;
      const auto& stage = s.stage[j % C.stages];
      float scores[kM][kN][4] = {};
      multiply_abt<T>(scores, s.q, arch::warp() * kWarpRows, stage.k);
      if (j >= whole_tiles) mask(scores, warp_row, j * C.block_n, visible);
      softmax_step(scores, o, rows, p.softmax_scale * kLog2E);
      multiply_pb<T>(o, scores, stage.v);
    }
    arch::cp_async_wait<0>();
    finish(o, rows, p);
  }

 private:
  static constexpr float kLn2 = 0.693147180559945309f;

  /// Stores the warp's rows, and mends those that repair.cuh speaks of. Where they lie is found again: kept through the
  /// loop, it would cost 10 registers a thread.
  static void finish(const float (&o)[kM][kD][4], const RowState (&rows)[kM][2], const Params& p) {
    const Work work = find_work<C.block_m>(p);
    const int warp_row = work.first_row + arch::warp() * kWarpRows;
    const int lane = arch::lane();
    T* g_o = work.row_of(static_cast<T*>(p.o), p.o_batch, p.o_row, p.o_head, work.head, work.q_offset);
    const int64 lse_row = work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset;
    uint32 broken = 0;  // bit r: the warp's row r has an output that is not finite
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = warp_row + m * 16 + AccumulatorMap::row(lane, 2 * h);
        const float sum = row_sum(rows[m][h].sum);
        const float inverse = sum == 0.f ? 0.f : 1.f / sum;
        bool finite = true;
#pragma unroll
        for (int n = 0; n < kD; ++n) finite &= is_finite(o[m][n][2 * h]) && is_finite(o[m][n][2 * h + 1]);
        // Four lanes hold a row. One whose own scores are no numbers has no numbers to give.
        const uint32 lanes = arch::ballot(p.causal != 0 && row < work.queries && is_finite(sum) && !finite);
#pragma unroll
        for (int r = 0; r < 8; ++r) broken |= uint32((lanes >> 4 * r & 15) != 0) << (m * 16 + h * 8 + r);
        const bool whole = row < work.queries && (lanes >> lane / 4 * 4 & 15) == 0;
#pragma unroll
        for (int n = 0; n < kD; ++n)
          arch::store_if(whole, g_o, row * p.o_row + n * 8 + AccumulatorMap::col(lane, 0),
                         arch::pack<T>(o[m][n][2 * h] * inverse, o[m][n][2 * h + 1] * inverse));
        const float lse = sum == 0.f ? kMinusInfinity : rows[m][h].max * p.softmax_scale + arch::log2(sum) * kLn2;
        arch::store_if(row < work.queries && p.lse != nullptr && lane % 4 == 0, p.lse, lse_row + row, lse);
      }
    if (broken == 0) return;
    const Visibility visible(work.queries, work.keys, true);
#pragma unroll 1
    for (int r = 0; r < kWarpRows; ++r)
      if (broken >> r & 1) attend_row<T, C.head_dim>(p, work, warp_row + r, visible.last(warp_row + r));
  }
};

}  // namespace flashfit
