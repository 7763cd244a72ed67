#pragma once
// The producer warp: it takes tiles, and has TMA copy slices of the expert's rows of a and b as far ahead as there are
// stages. A slice of 64 rows may end with rows of the next expert, which may hold NaN: up to the next multiple of 16,
// the depth of one wgmma, the warp writes zeros over them before it passes the slice to the consumers.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/weights/params.hpp"
#include "kernels/moe/experts/weights/shared.cuh"
#include "kernels/moe/experts/weights/works.cuh"

namespace flashfit {

template <WeightsProductConfig C>
class WeightsProducer {
  using Params = WeightsProductParams;
  using Shared = WeightsShared<C>;
  using T = Element<C.dtype>;
  using TileA = typename Shared::TileA;
  using TileB = typename Shared::TileB;

 public:
  /// By one warp.
  static void run(const Params& p, Shared& s) { WeightsProducer(p, s).run(); }

 private:
  /// So many slices before the end of a tile, the next one is taken, and its rows are looked up: as in
  /// wgmma/producer.cuh.
  static constexpr int kTake = 6, kLook = 3;

  WeightsProducer(const Params& p, Shared& s) : p_(p), s_(s), at_(0), ragged_stage_(0), ragged_rows_(0), phases_(0) {}

  void run() {
    WeightsWorks<C> works(p_);
    for (;;) {
      const WeightsTile tile = works.next();
      if (tile.expert < 0) return tell(tile);
      const int first_row = works.first_row(), slices = (tile.rows + C.depth - 1) / C.depth;
      const int take = slices > kTake ? slices - kTake : 0, look = slices > kLook ? slices - kLook : 0;
      if (slices == 0) {
        works.take();
        tell(tile);
        works.look();
      }
      for (int i = 0; i < slices; ++i) {
        copy(tile, first_row, i);
        if (i == take) works.take();
        if (i == look) works.look();
      }
    }
  }

  /// A stage without a slice, which tells the consumers of a tile without rows, or that no tile is left.
  void tell(const WeightsTile& tile) {
    const int stage = wait();
    sweep();
    if (arch::lane() == 0) {
      arch::store_shared(s_.tiles, stage, tile);
      arch::mbarrier_arrive(s_.full[stage]);
    }
  }

  /// Slice i of a tile. If rows of it have to be zeroed, that is done once the copies of the next slice are issued.
  void copy(const WeightsTile& tile, int first_row, int i) {
    const int stage = wait(), left = tile.rows - i * C.depth;
    const bool ragged = left < C.depth && left % 16 != 0;
    if (arch::lane() == 0) {
      if (i == 0) arch::store_shared(s_.tiles, stage, tile);
      MBarrier& barrier = ragged ? s_.landed[stage] : s_.full[stage];
      arch::mbarrier_arrive_expect_tx(barrier, int(sizeof s_.a[stage] + sizeof s_.b[stage]));
      const int row = first_row + i * C.depth;
#pragma unroll
      for (int g = 0; g < kWeightsGroups; ++g)
        arch::tma_load(s_.a[stage][g].data, 0, p_.a, {tile.i + g * 64, row}, barrier);
#pragma unroll
      for (int panel = 0; panel < TileB::kPanels; ++panel)
        arch::tma_load(s_.b[stage].data, TileB::panel(panel), p_.b, {tile.j + panel * TileB::kPanel, row}, barrier);
    }
    arch::sync_warp();
    sweep();
    if (ragged) ragged_stage_ = stage, ragged_rows_ = left;
  }

  /// Zeroes the rows of other experts in the slice before, if it has any, and passes that slice to the consumers.
  void sweep() {
    if (ragged_rows_ == 0) return;
    const int stage = ragged_stage_, others = (16 - ragged_rows_ % 16);
    arch::mbarrier_wait(s_.landed[stage], int(phases_ >> stage & 1));
    phases_ ^= 1u << stage;
    constexpr int kPanels = kWeightsGroups + TileB::kPanels, kChunks = 8 * kPanels;  // of a row, 16 bytes each
    for (int i = arch::lane(); i < others * kChunks; i += 32) {
      const int at = i % kChunks, panel = at / 8, offset = (ragged_rows_ + i / kChunks) * 64 + at % 8 * 8;
      if (panel < kWeightsGroups)
        arch::store_shared(s_.a[stage][panel].data, offset, Bytes16{});
      else
        arch::store_shared(s_.b[stage].data, TileB::panel(panel - kWeightsGroups) + offset, Bytes16{});
    }
    arch::fence_proxy_async();
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(s_.full[stage]);
    ragged_rows_ = 0;
  }

  /// Waits until the next stage is empty.
  int wait() {
    const int stage = at_ % C.stages;
    arch::mbarrier_wait(s_.empty[stage], at_ / C.stages % 2 ^ 1);
    ++at_;
    return stage;
  }

  const Params& p_;
  Shared& s_;
  int at_;                          // stages so far
  int ragged_stage_, ragged_rows_;  // of the slice whose other rows are to be zeroed; 0 rows: there is none
  uint32 phases_;                   // a bit for each stage's `landed`: its parity
};

}  // namespace flashfit
