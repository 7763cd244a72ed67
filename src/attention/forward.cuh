#pragma once
// Fused attention forward over mma.sync (docs/kernels.md derives it).
// A block owns block_m query rows of one head, a warp block_m / warps of them. K and V tiles stream through rings of
// `stages` slots. Per key tile:
//   S = Q K^T;  where a score passes its row's base b by much: b' = max S c;  P = exp2(S c - b');
//   l = l exp2(b - b') + rowsum P;  O = O exp2(b - b') + P V.
// At the end O / l is stored, and LSE = (b + log2 l) ln 2. Only tiles that the mask's edge or the last key crosses are
// masked. Tensor cores are kept busy: copies are issued between the products of Q K^T, weights are computed between
// those of P V.
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
    TileKV k[C.stages], v[C.stages];
  };
  static_assert(sizeof(Shared) == forward_shared_bytes(C));

  static constexpr int kThreads = forward_threads(C);
  static constexpr int kMinBlocks = C.min_blocks;
  static constexpr int kWarpRows = C.block_m / C.warps;
  static_assert(kWarpRows <= 32, "finish() keeps a bit a row");
  static constexpr int kM = kWarpRows / 16;  // m16 tiles of a warp
  static constexpr int kN = C.block_n / 8;   // n8 tiles of scores
  static constexpr int kD = C.head_dim / 8;  // n8 tiles of output
  static constexpr int kSteps = C.head_dim / 16;
  // Q stays in registers where they suffice for its fragments, scores, outputs and, as compiled kernels show, 36 and 12
  // an m16 tile for the rest; else it is read again for each tile.
  static constexpr int kRegisters = 65536 / (kThreads * kMinBlocks) < 255 ? 65536 / (kThreads * kMinBlocks) : 255;
  static constexpr bool kHoldsQ = kM * 4 * (kSteps + kN + kD) + 36 + 12 * kM <= kRegisters;
  using CopyKV = TileCopy<T, TileKV, kThreads>;

  static void run(const Params& p) {
    const Work work = find_work<C.block_m>(p);
    if (work.queries == 0) return;
    Shared& s = arch::shared<Shared>();
    const int kv_head = work.head / p.group;
    const T* g_q = work.row_of(static_cast<const T*>(p.q), p.q_batch, p.q_row, p.q_head, work.head, work.q_offset);
    const T* g_k = work.row_of(static_cast<const T*>(p.k), p.k_batch, p.k_row, p.k_head, kv_head, work.k_offset);
    const T* g_v = work.row_of(static_cast<const T*>(p.v), p.v_batch, p.v_row, p.v_head, kv_head, work.k_offset);
    const Visibility visible(work.queries, work.keys, p.causal != 0);
    const int warp_row = work.first_row + arch::warp() * kWarpRows;
    const int end_row = work.first_row + C.block_m < work.queries ? work.first_row + C.block_m : work.queries;
    const int keys = visible.count(end_row - 1);
    const int tiles = (keys + C.block_n - 1) / C.block_n;
    const int warp_tiles = (visible.count(warp_row + kWarpRows - 1) + C.block_n - 1) / C.block_n;
    const int whole_tiles = visible.count(warp_row) / C.block_n;  // seen whole by every row of the warp

    TileCopy<T, TileQ, kThreads>(g_q, p.q_row, work.queries, work.first_row).start(s.q);
    CopyKV copy_k(g_k, p.k_row, keys), copy_v(g_v, p.v_row, keys);
#pragma unroll
    for (int j = 0; j < C.stages - 1; ++j) {
      copy_k.start(s.k[j]);
      copy_v.start(s.v[j]);
      arch::cp_async_commit();
    }

    const SharedA<TileQ> shared_q(s.q, arch::warp() * kWarpRows);
    RegisterA<kM, kSteps> held_q;
    if constexpr (kHoldsQ) {
      arch::cp_async_wait<C.stages - 2>();
      arch::sync_block();
      held_q.load_all(shared_q);
    }
    const float scale_log2 = p.softmax_scale * kLog2E;
    float o[kM][kD][4] = {};
    RowState rows[kM][2];
    for (int j = 0; j < tiles; ++j) {
      arch::cp_async_wait<C.stages - 2>();
      arch::sync_block();  // tile j is there for all; all have left the slot that is filled next
      const TileKV &k = s.k[j % C.stages], &v = s.v[j % C.stages];
      TileKV &k_next = s.k[(j + C.stages - 1) % C.stages], &v_next = s.v[(j + C.stages - 1) % C.stages];
      const auto copy = [&](int first, int last) {
#pragma unroll
        for (int r = first; r < last; ++r) {
          copy_k.pass(k_next, r);
          copy_v.pass(v_next, r);
        }
        if (last < CopyKV::kPasses || first == last) return;
        copy_k.next_tile();
        copy_v.next_tile();
        arch::cp_async_commit();  // long before the wait for it: a group takes its time to close
      };
      if (j >= warp_tiles) {
        copy(0, CopyKV::kPasses);
        continue;
      }
      float scores[kM][kN][4] = {};
      const auto copy_some = [&](int i) {
        // Copies that are waited for are better issued together than one by one.
        constexpr int kGroups = arch::kCopiesAreAsync ? kSteps * kN / 2 : 1;
        if (i < kGroups) copy(CopyKV::kPasses * i / kGroups, CopyKV::kPasses * (i + 1) / kGroups);
      };
      if constexpr (kHoldsQ)
        multiply_abt<T>(scores, held_q, k, copy_some);
      else
        multiply_abt<T>(scores, shared_q, k, copy_some);
      if (j >= whole_tiles) mask(scores, warp_row, j * C.block_n, visible);
      if (exceeds_base(scores, rows, scale_log2)) follow_maximum(scores, o, rows, scale_log2);
      uint32 weights[kM][kN][2];
      const auto weigh_some = [&](int first, int last) { weigh<T>(weights, scores, rows, scale_log2, first, last); };
      constexpr int kPairs = kScorePairs<kM, kN>, kFirst = kPairs / (kN / 2), kGroups = kN * kD / 4;
      weigh_some(0, kFirst);  // of 16 keys, what one step of P V takes; then of the next 16 while it runs
      multiply_pb<T>(o, weights, v, [&](int i) {
        weigh_some(clamp(kFirst + kPairs * i / kGroups, 0, kPairs),
                   clamp(kFirst + kPairs * (i + 1) / kGroups, 0, kPairs));
      });
    }
    arch::cp_async_wait<0>();
    arch::sync_block();  // nothing is on its way into Q, where the output goes next
    finish(s.q, o, rows, p);
  }

 private:
  static constexpr float kLn2 = 0.693147180559945309f;

  /// Stores the warp's rows, and mends those that repair.cuh speaks of. Where they lie is found again: kept through the
  /// loop, it would cost 10 registers a thread.
  static void finish(TileQ& s_o, const float (&o)[kM][kD][4], const RowState (&rows)[kM][2], const Params& p) {
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
#pragma unroll
        for (int n = 0; n < kD; ++n)
          arch::store_shared(s_o.data, TileQ::offset(row - work.first_row, n * 8 + AccumulatorMap::col(lane, 0)),
                             arch::pack<T>(o[m][n][2 * h] * inverse, o[m][n][2 * h + 1] * inverse));
        const float lse = sum == 0.f ? kMinusInfinity : (rows[m][h].base + arch::log2(sum)) * kLn2;
        arch::store_if(row < work.queries && p.lse != nullptr && lane % 4 == 0, p.lse, lse_row + row, lse);
      }
    arch::sync_warp();
    constexpr int kLanes = C.head_dim / 8;  // of a row, 16 bytes each
#pragma unroll
    for (int r = 0; r < kWarpRows; r += 32 / kLanes) {
      const int row = warp_row + r + lane / kLanes, col = lane % kLanes * 8;
      const bool whole = row < work.queries && (broken >> (r + lane / kLanes) & 1) == 0;
      arch::store_if(whole, g_o, row * p.o_row + col,
                     arch::load_shared<Bytes16>(s_o.data, TileQ::offset(row - work.first_row, col)));
    }
    if (broken == 0) return;
    const Visibility visible(work.queries, work.keys, true);
#pragma unroll 1
    for (int r = 0; r < kWarpRows; ++r)
      if (broken >> r & 1) attend_row<T, C.head_dim>(p, work, warp_row + r, visible.last(warp_row + r));
  }
};

}  // namespace flashfit
