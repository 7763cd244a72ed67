#pragma once
// A consumer warpgroup: it computes 64 of a tile's rows of the gradient.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/moe/experts/weights/params.hpp"
#include "kernels/moe/experts/weights/shared.cuh"
#include "kernels/moe/experts/weights/works.cuh"

namespace flashfit {

template <WeightsProductConfig C>
class WeightsConsumer {
  using Params = WeightsProductParams;
  using Shared = WeightsShared<C>;
  using T = Element<C.dtype>;
  using TileA = typename Shared::TileA;
  using TileB = typename Shared::TileB;
  using TileOut = typename Shared::TileOut;
  using Sums = float[C.tile_n / 2];

 public:
  static void run(const Params& p, Shared& s, int group) { WeightsConsumer(p, s, group).run(); }

 private:
  /// Ping-pong: the second warpgroup begins so many slices after the first, and stays behind. While one is in its
  /// epilogue, the other has the tensor cores to itself.
  static constexpr int kLead = 1;
  static constexpr int kBegin = 1;  // a named barrier

  WeightsConsumer(const Params& p, Shared& s, int group) : p_(p), s_(s), group_(group), begun_(false), at_(0) {}

  void run() {
    for (;;) {
      const WeightsTile tile = next();
      if (tile.expert < 0) break;
      Sums sums = {};
      if (tile.rows == 0)
        release(at_++);
      else
        multiply(sums, tile.rows);
      put(tile, sums);
    }
    begin();
  }

  /// The next tile: the same in all lanes, for the compiler too.
  WeightsTile next() {
    const int stage = at_ % C.stages;
    arch::mbarrier_wait(s_.full[stage], at_ / C.stages % 2);
    const WeightsTile tile = arch::load_shared(s_.tiles, stage);
    return {.expert = arch::shuffle(tile.expert, 0),
            .rows = arch::shuffle(tile.rows, 0),
            .i = arch::shuffle(tile.i, 0),
            .j = arch::shuffle(tile.j, 0)};
  }

  /// Once: the first warpgroup lets the second begin, which waits for that.
  void begin() {
    if (begun_) return;
    begun_ = true;
    if (group_ == 0)
      arch::named_barrier_arrive(kBegin, 128 * kWeightsGroups);
    else
      arch::named_barrier_sync(kBegin, 128 * kWeightsGroups);
  }

  void multiply(Sums& sums, int rows) {
    if (group_ != 0) begin();
    arch::wgmma_fence(sums);
    for (int left = rows; left > 0; left -= C.depth, ++at_) {
      const int stage = at_ % C.stages;
      arch::mbarrier_wait(s_.full[stage], at_ / C.stages % 2);
      arch::wgmma_fence();
      const uint64 a = encode(TileA::mn_major(arch::shared_address(s_.a[stage][group_].data), 0, 0));
      const uint64 b = encode(TileB::mn_major(arch::shared_address(s_.b[stage].data), 0, 0));
#pragma unroll
      for (int k = 0; k < C.depth; k += 16)
        if (k < left)
          arch::wgmma_m64k16<T, Major::kMN, Major::kMN>(sums, TileA::moved(a, k, 0), TileB::moved(b, k, 0), true);
      arch::wgmma_commit();
      if (group_ == 0 && at_ >= kLead) begin();
      arch::wgmma_wait<1>();
      if (left != rows) release(at_ - 1);
    }
    arch::wgmma_wait<0>(sums);
    release(at_ - 1);
  }

  /// The warp has read the n-th slice for the last time.
  void release(int n) {
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(s_.empty[n % C.stages]);
  }

  /// The epilogue: the warp's 16 rows to global memory, 64 columns at a time, through shared memory, so that 128 bytes
  /// of a row are stored at once. Two buffers alternate: a buffer is written again only when all lanes have read it.
  void put(const WeightsTile& tile, const Sums& sums) {
    const int lane = arch::lane(), warp = group_ * 4 + arch::warp() % 4;
    TileOut(&s_out)[kWeightsOutBuffers] = s_.out[warp];
    const int to = TileOut::offset(LdmatrixMap::down_row(lane), LdmatrixMap::down_col(lane));
    const int row = lane / 8, column = lane % 8 * 8;
    const int from[2] = {TileOut::offset(row, column), TileOut::offset(row + 4, column)};
    const int i = tile.i + warp * 16 + row, j = tile.j + column;
    T* const g_out = static_cast<T*>(p_.out) + (tile.expert * int64{p_.m} + i) * p_.n + j;
#pragma unroll
    for (int c = 0; c < C.tile_n; c += kWeightsOutColumns) {
      TileOut& s_chunk = s_out[c / kWeightsOutColumns % kWeightsOutBuffers];
#pragma unroll
      for (int q = 0; q < kWeightsOutColumns; q += 16) {
        uint32 words[4];
#pragma unroll
        for (int w = 0; w < 4; ++w) {
          const int at = (c + q) / 2 + 2 * w;
          words[w] = arch::pack<T>(sums[at], sums[at + 1]);
        }
        arch::stmatrix_x4(s_chunk.data, TileOut::right(to, q), words);
      }
      arch::sync_warp();
#pragma unroll
      for (int r = 0; r < 16; r += 4) {
        const auto values = arch::load_shared<Bytes16>(s_chunk.data, TileOut::down(from[r / 4 % 2], r / 8 * 8));
        arch::store_if(i + r < p_.m && j + c < p_.n, g_out, r * int64{p_.n} + c, values);
      }
    }
  }

  const Params& p_;
  Shared& s_;
  const int group_;
  bool begun_;
  int at_;  // stages so far
};

}  // namespace flashfit
