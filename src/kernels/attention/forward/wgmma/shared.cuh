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
struct Handover {
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
  static constexpr int kRowSlots = forward_q_slots(kWide);
  Rows rows[kRowSlots];
  TileK k[C.stages];
  TileV v[C.stages];
  JobSlot jobs[kRowSlots];  ///< of each Q buffer
  int before[kRowSlots];    ///< columns before the first one of its K and V (head_start.hpp), and so of its output
  Handover of_rows[kRowSlots], of_k[C.stages], of_v[C.stages];
  static constexpr int kFoundSlots = 2;
  JobSlot found[kFoundSlots];  ///< jobs from the scheduler, which the producer has yet to read
  Handover of_found[kFoundSlots];

  /// By one thread.
  void init() {
    for (int i = 0; i < kRowSlots; ++i) of_rows[i].init(C.warps);
    for (int i = 0; i < C.stages; ++i) {
      of_k[i].init(C.warps);
      of_v[i].init(C.warps);
    }
    for (Handover& each : of_found) each.init(1);
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
