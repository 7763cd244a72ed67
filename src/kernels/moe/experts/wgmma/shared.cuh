#pragma once
// A block's shared memory: a ring of slices of weights and rows, the barriers by which they are handed over, and the
// results' way out.
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
  using TileOut = SwizzledTile<T, experts_rows_on_way_out(C), 64>;       ///< [rows, outputs]
  static constexpr int kGroups = C.column_warps / 4;

  TileW w[C.stages][2 * kGroups];
  TileA a[C.stages];
  TileOut out[kGroups];
  alignas(1024) MBarrier full[C.stages];
  MBarrier empty[C.stages];
  ExpertsPlace places[C.stages];  ///< in the slot of a tile's first slice

  /// By one thread.
  void init() {
    for (int i = 0; i < C.stages; ++i) {
      arch::mbarrier_init(full[i], 1);
      arch::mbarrier_init(empty[i], C.column_warps);
    }
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
