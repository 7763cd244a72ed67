#pragma once
// A block's shared memory: a ring whose stages hold slices of weights and rows, its mbarriers, and the epilogue's
// buffers.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "kernels/layout/swizzle.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/wgmma/works.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
struct WgmmaExpertsShared {
  using T = Element<C.dtype>;
  /// [outputs, depth], transposed [depth, outputs]: m of one wgmma.
  using TileW = PanelTile<T, C.transposed ? C.depth : 64, C.transposed ? 64 : C.depth, SwizzleMode::k128B>;
  using TileA = PanelTile<T, C.tile_rows, C.depth, SwizzleMode::k128B>;  ///< [rows, depth]: its n
  using TileOut = SwizzledTile<T, experts_epilogue_rows(C), 64>;         ///< [rows, outputs]
  static constexpr int kGroups = experts_product_groups(C), kRuns = experts_runs(C);
  static constexpr int kIdleWarps = kExpertsIdleWarps;  ///< beside the producer thread: they gather, or add up

  TileW w[C.stages][kRuns * kGroups];
  TileA a[C.stages];
  TileOut out[kGroups];
  T pieces[kIdleWarps][kSumStages][kSumColumns];  ///< of rows of y that idle warps add up: rings of their own
  alignas(1024) MBarrier full[C.stages];
  MBarrier empty[C.stages];
  ExpertsPlace places[C.stages];  ///< of each tile, in the stage of its first slice
  ExpertsPlace to_gather[2];      ///< the tile whose rows are gathered next, and the one after it
  MBarrier known[2], heard[2];
  MBarrier copied[kIdleWarps][kSumStages];
  MBarrier told[kMostPhases];  ///< the block's tiles of the phase, and of those before, are in the global counters

  /// By one thread. `gathers`: rows are gathered.
  void init(bool gathers) {
    for (int i = 0; i < C.stages; ++i) {
      arch::mbarrier_init(full[i], gathers ? 1 + kIdleWarps * 32 : 1);
      arch::mbarrier_init(empty[i], C.column_warps);
    }
    for (auto& ring : copied)
      for (MBarrier& barrier : ring) arch::mbarrier_init(barrier, 1);
    for (MBarrier& barrier : told) arch::mbarrier_init(barrier, 1);
    for (MBarrier& barrier : known) arch::mbarrier_init(barrier, 1);
    for (MBarrier& barrier : heard) arch::mbarrier_init(barrier, kIdleWarps);
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
