#pragma once
// Shared memory of a block that takes whole heads.
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/shared.cuh"

namespace flashfit {

template <ForwardConfig C>
struct WgmmaHeadsShared {
  using Tiles = WgmmaShared<C>;
  using TileQ = typename Tiles::TileQ;
  using TileK = typename Tiles::TileK;
  using TileV = typename Tiles::TileV;
  using Rows = typename Tiles::Rows;
  static constexpr int kRowBuffers = heads_q_buffers(C), kGroups = C.warps / 4;

  Rows rows[kRowBuffers];  ///< 64 of each are a warpgroup's
  TileK k[C.stages];
  TileV v[C.stages];
  MBarrier full_rows[kRowBuffers][kGroups];  ///< each warp copies its own 16 rows
  StageBarriers of_k[C.stages], of_v[C.stages];

  /// By one thread.
  void init() {
    for (int i = 0; i < kRowBuffers; ++i)
      for (int group = 0; group < kGroups; ++group) arch::mbarrier_init(full_rows[i][group], 4);
    for (int i = 0; i < C.stages; ++i) {
      of_k[i].init(C.warps);
      of_v[i].init(C.warps);
    }
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
