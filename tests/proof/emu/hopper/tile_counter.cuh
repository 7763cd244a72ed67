#pragma once
// Blocks draw the tiles that they work on from a counter (dynamic scheduling), and count what they have done.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = 3 x[i], a tile at a time. counters[0]: the next tile; [1]: elements done; both 0 before.
struct TileCounterKernel {
  static constexpr int kTile = 64, kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    int* counters;
    int tiles;
  };
  struct Shared {
    int tile[1];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    for (;;) {
      if (arch::thread() == 0)
        arch::store_shared(s.tile, 0, arch::atomic_add<arch::MemoryOrder::kRelaxed>(p.counters, 0, 1));
      arch::sync_block();
      const int tile = arch::load_shared(s.tile, 0);
      arch::sync_block();  // all have read it
      if (tile >= p.tiles) return;
      const int64 i = int64(tile) * kTile + arch::thread();
      arch::store_if(true, p.y, i, 3 * arch::load(p.x, i));
      const int done = arch::warp_sum(1);
      if (arch::lane() == 0) arch::reduce_add<arch::MemoryOrder::kRelaxed>(p.counters, 1, done);
    }
  }
};

}  // namespace flashfit::testing
