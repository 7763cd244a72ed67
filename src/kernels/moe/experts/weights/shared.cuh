#pragma once
// A block's shared memory: a ring whose stages hold slices of a and b, its mbarriers, and each warp's epilogue buffers.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "kernels/layout/swizzle.hpp"
#include "kernels/moe/experts/weights/config.hpp"
#include "kernels/moe/experts/weights/works.cuh"

namespace flashfit {

template <WeightsProductConfig C>
struct WeightsShared {
  using T = Element<C.dtype>;
  // Rows are what wgmma calls k, columns its m and n: both operands are "transposed".
  using TileA = PanelTile<T, C.depth, 64, SwizzleMode::k128B>;
  using TileB = PanelTile<T, C.depth, C.tile_n, SwizzleMode::k128B>;
  using TileOut = SwizzledTile<T, 16, kWeightsOutColumns>;

  TileA a[C.stages][kWeightsGroups];
  TileB b[C.stages];
  TileOut out[kWeightsGroups * 4][kWeightsOutBuffers];
  alignas(1024) MBarrier full[C.stages];
  MBarrier landed[C.stages];  ///< in place of `full`, for slices that have rows of another expert
  MBarrier empty[C.stages];
  WeightsTile tiles[C.stages];  ///< of each tile, in the stage of its first slice

  /// By one thread.
  void init() {
    for (int i = 0; i < C.stages; ++i) {
      arch::mbarrier_init(full[i], 1);
      arch::mbarrier_init(landed[i], 1);
      arch::mbarrier_init(empty[i], kWeightsGroups * 4);
    }
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
