#pragma once
// A block's shared memory: Q, rings of K and V tiles, and the barriers by which producer and consumers hand them over.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/output.cuh"
#include "kernels/layout/panel_tile.hpp"

namespace flashfit {

/// A slot that one side fills and the other empties, in turns.
struct Handover {
  MBarrier full, empty;

  /// One arrival fills it, beside the bytes; `consumers` empty it. One thread, before all others use it.
  void init(int consumers) {
    arch::mbarrier_init(full, 1);
    arch::mbarrier_init(empty, consumers);
  }
  /// Until it was filled, emptied, for the n-th time, from 0 on.
  void wait_full(int n) { arch::mbarrier_wait(full, n % 2); }
  void wait_empty(int n) { arch::mbarrier_wait(empty, n % 2 ^ 1); }
  /// The warp is done with what the slot holds.
  void release() {
    arch::sync_warp();
    if (arch::lane() == 0) arch::mbarrier_arrive(empty);
  }
};

template <bool First, class A, class B>
struct Choice {
  using Type = A;
};
template <class A, class B>
struct Choice<false, A, B> {
  using Type = B;
};

template <ForwardConfig C>
struct WgmmaShared {
  using T = Element<C.dtype>;
  using TileQ = PanelTile<T, C.block_m, C.head_dim, panel_mode(C.head_dim)>;
  using TileK = PanelTile<T, C.block_n, C.head_dim, panel_mode(C.head_dim)>;
  using TileV = PanelTile<T, C.block_n, C.head_dim_v, panel_mode(C.head_dim_v)>;

  static constexpr bool kApart = has_room_for_output(C);
  struct Apart {
    TileQ q;
    typename Output<C>::Tile o;
  };
  union InTurns {
    TileQ q;
    typename Output<C>::Tile o;  ///< a warp's rows lie where its rows of q did
  };
  typename Choice<kApart, Apart, InTurns>::Type rows;  ///< Q, and the output on its way out
  TileK k[C.stages];
  TileV v[C.stages];
  Handover of_q, of_k[C.stages], of_v[C.stages];

  /// By one thread.
  void init() {
    of_q.init(C.warps);
    for (int i = 0; i < C.stages; ++i) {
      of_k[i].init(C.warps);
      of_v[i].init(C.warps);
    }
    arch::fence_mbarrier_init();
  }
};

}  // namespace flashfit
