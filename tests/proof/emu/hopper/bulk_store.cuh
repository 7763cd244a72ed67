#pragma once
// Results leave through shared memory: generic stores, a proxy fence, a bulk copy; two buffers in turn.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = x[i] + 1, tile by tile.
struct BulkStoreKernel {
  static constexpr int kTile = 64, kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    int tiles;
  };
  struct Shared {
    alignas(128) float tile[2][kTile];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int i = arch::thread();
    for (int t = 0; t < p.tiles; ++t) {
      float* const tile = s.tile[t % 2];
      if (i == 0) arch::bulk_wait_read<1>();  // the copy before the last one has read this buffer
      arch::sync_block();
      arch::store_shared(tile, i, arch::load(p.x, int64(t) * kTile + i) + 1);
      arch::fence_proxy_async();
      arch::sync_block();
      if (i == 0) {
        arch::copy_bulk_to_global(p.y, int64(t) * kTile, tile, 0, kTile * sizeof(float));
        arch::bulk_commit();
      }
    }
    if (i == 0) arch::bulk_wait_read<0>();  // shared memory must last until then
  }
};

}  // namespace flashfit::testing
