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
  static constexpr int kSumWarps = 3, kSumStages = 4;
  static_assert(kSumWarps * kSumStages * kSumColumns * int(sizeof(T)) <= kExpertsPieces * kExpertsPieceBytes);
  static constexpr int kPieces = kExpertsPieces, kPiece = kExpertsPieceBytes / int(sizeof(T));

  TileW w[C.stages][kRuns * kGroups];
  TileA a[C.stages];
  TileOut out[kGroups];
  T pieces[kPieces][kPiece];  ///< of rows that are copied ahead: between load and store
  alignas(1024) MBarrier full[C.stages];
  MBarrier empty[C.stages];
  ExpertsPlace places[C.stages];  ///< of each tile, in the stage of its first slice
  /// Of each piece of rows copied ahead; or, where idle warps add up y, of each stage of these warps' rings, which lie
  /// in the same memory.
  MBarrier copied[kSumWarps * kSumStages];
  static_assert(kPieces <= kSumWarps * kSumStages);
  MBarrier told[kMostPhases];  ///< the block's tiles of the phase, and of those before, are in the global counters
  int tokens[32];              ///< the tokens of the rows in the copier's unit
  int helpers_unit[2];         ///< the first row of the unit that the consumers copy, and how many it has; 0: none
  MBarrier helped;             ///< the consumers copy no more

  /// By one thread.
  void init() {
    for (int i = 0; i < C.stages; ++i) {
      arch::mbarrier_init(full[i], 1);
      arch::mbarrier_init(empty[i], C.column_warps);
    }
    for (MBarrier& barrier : copied) arch::mbarrier_init(barrier, 1);
    for (MBarrier& barrier : told) arch::mbarrier_init(barrier, 1);
    arch::mbarrier_init(helped, 1);
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
