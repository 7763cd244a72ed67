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
#include "attention/containment.cuh"
#include "attention/mask.cuh"
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
  static constexpr int kM = kWarpRows / 16;  // m16 tiles of a warp
  static constexpr int kN = C.block_n / 8;   // n8 tiles of scores
  static constexpr int kD = C.head_dim / 8;  // n8 tiles of output

  static void run(const Params& p) {
    const Work work = find_work<C.block_m>(p);
    if (work.queries == 0) return;
    Shared& s = arch::shared<Shared>();
    const T* g_q =
        static_cast<const T*>(p.q) + work.sequence * p.q_batch + work.q_offset * p.q_row + work.head * p.q_head;
    const T* g_k = static_cast<const T*>(p.k) + work.sequence * p.k_batch + work.k_offset * p.k_row +
                   work.head / p.group * p.k_head;
    const T* g_v = static_cast<const T*>(p.v) + work.sequence * p.v_batch + work.k_offset * p.v_row +
                   work.head / p.group * p.v_head;
    const TileCopy<T, TileQ, kThreads> copy_q(g_q, p.q_row, work.queries);
    const TileCopy<T, TileKV, kThreads> copy_k(g_k, p.k_row, work.keys);
    const TileCopy<T, TileKV, kThreads> copy_v(g_v, p.v_row, work.keys);

    const Visibility visible(work.queries, work.keys, p.causal != 0);
    const int warp_row = work.first_row + arch::warp() * kWarpRows;
    const int end_row = work.first_row + C.block_m < work.queries ? work.first_row + C.block_m : work.queries;
    const int tiles = (visible.count(end_row - 1) + C.block_n - 1) / C.block_n;
    const int warp_tiles = (visible.count(warp_row + kWarpRows - 1) + C.block_n - 1) / C.block_n;
    const int seen_by_all = visible.count(work.first_row) / C.block_n;
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
      auto& stage = s.stage[j % C.stages];
      const bool tainted = p.causal != 0 && j >= seen_by_all && any_non_finite<T, kThreads>(stage.v);
      float scores[kM][kN][4] = {};
      if (j < warp_tiles) {
        multiply_abt<T>(scores, s.q, arch::warp() * kWarpRows, stage.k);
        if (j >= whole_tiles) mask(scores, warp_row, j * C.block_n, visible);
        softmax_step(scores, o, rows, p.softmax_scale * kLog2E);
      }
      if (tainted) contain_non_finite<T, kThreads>(o, stage.v, warp_row, j * C.block_n, visible);
      if (j < warp_tiles) multiply_pb<T>(o, scores, stage.v);
    }
    arch::cp_async_wait<0>();
    store(o, rows, find_work<C.block_m>(p),
          p);  // found again: kept through the loop, it would cost 10 registers a thread
  }

 private:
  static constexpr float kLog2E = 1.44269504088896341f;
  static constexpr float kLn2 = 0.693147180559945309f;

  static void store(const float (&o)[kM][kD][4], const RowState (&rows)[kM][2], const Work& work, const Params& p) {
    const int warp_row = work.first_row + arch::warp() * kWarpRows;
    const int lane = arch::lane();
    T* g_o = static_cast<T*>(p.o) + work.sequence * p.o_batch + work.q_offset * p.o_row + work.head * p.o_head;
    const int64 lse_row = work.sequence * p.lse_batch + work.head * p.lse_head + work.q_offset;
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const int row = warp_row + m * 16 + AccumulatorMap::row(lane, 2 * h);
        const float sum = row_sum(rows[m][h].sum);
        const float inverse = sum == 0.f ? 0.f : 1.f / sum;
#pragma unroll
        for (int n = 0; n < kD; ++n)
          arch::store_if(row < work.queries, g_o, row * p.o_row + n * 8 + AccumulatorMap::col(lane, 0),
                         arch::pack<T>(o[m][n][2 * h] * inverse, o[m][n][2 * h + 1] * inverse));
        const float lse = sum == 0.f ? kMinusInfinity : rows[m][h].max * p.softmax_scale + arch::log2(sum) * kLn2;
        arch::store_if(row < work.queries && p.lse != nullptr && lane % 4 == 0, p.lse, lse_row + row, lse);
      }
  }
};

}  // namespace flashfit
