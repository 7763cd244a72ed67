#pragma once
// A block's shared memory: Q buffers, rings of K and V stages, and the mbarriers between producer and consumers.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/attention/forward/wgmma/tile_columns.hpp"
#include "kernels/attention/forward/wgmma/works.cuh"
#include "kernels/layout/panel_tile.hpp"

namespace flashfit {

/// The two mbarriers of a stage of a ring, or of a Q buffer, which one side fills and the other empties.
struct StageBarriers {
  MBarrier full, empty;

  /// One arrival fills it, beside the bytes; `consumers` empty it. One thread, before all others use it.
  void init(int consumers) {
    arch::mbarrier_init(full, 1);
    arch::mbarrier_init(empty, consumers);
  }
  /// Wait until the stage was filled, or emptied, for the n-th time; n counts from 0.
  void wait_full(int n) { arch::mbarrier_wait(full, n % 2); }
  void wait_empty(int n) { arch::mbarrier_wait(empty, n % 2 ^ 1); }
  /// The warp has read what the stage holds for the last time.
  void release() {
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(empty);
  }
};

template <ForwardConfig C>
struct WgmmaShared {
  using T = Element<C.dtype>;
  static constexpr ForwardConfig kWide = with_tile_columns(C);
  using TileQ = PanelTile<T, C.block_m, kWide.head_dim, panel_mode(kWide.head_dim)>;
  using TileK = PanelTile<T, C.block_n, kWide.head_dim, panel_mode(kWide.head_dim)>;
  using TileV = PanelTile<T, C.block_n, kWide.head_dim_v, panel_mode(kWide.head_dim_v)>;

  /// A Q buffer: a tile of Q, and in the epilogue the output of its rows. A warp's output rows lie where its rows of Q
  /// did.
  union Rows {
    TileQ q;
    typename Output<kWide>::Tile o;
  };
  static_assert(TileQ::kPanel == Output<kWide>::Tile::kPanel && sizeof(Rows) == sizeof(TileQ));
  static constexpr int kRowBuffers = forward_q_buffers(kWide);
  Rows rows[kRowBuffers];
  TileK k[C.stages];
  TileV v[C.stages];
  SharedJob jobs[kRowBuffers];  ///< of each Q buffer
  int before[kRowBuffers];      ///< columns before the first one of its K and V (head_start.hpp), and so of its output
  StageBarriers of_rows[kRowBuffers], of_k[C.stages], of_v[C.stages];
  static constexpr int kScheduledJobs = 2;
  SharedJob scheduled[kScheduledJobs];  ///< jobs from the scheduler, which the producer has yet to read
  StageBarriers of_scheduled[kScheduledJobs];

  /// By one thread.
  void init() {
    for (int i = 0; i < kRowBuffers; ++i) of_rows[i].init(C.warps);
    for (int i = 0; i < C.stages; ++i) {
      of_k[i].init(C.warps);
      of_v[i].init(C.warps);
    }
    for (StageBarriers& each : of_scheduled) each.init(1);
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
