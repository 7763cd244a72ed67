#pragma once
// Blocks add their tiles into one by bulk reductions.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] += x[block][i], for all blocks.
struct BulkReduceKernel {
  static constexpr int kTile = 64, kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
  };
  struct Shared {
    alignas(128) float tile[kTile];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int i = arch::thread();
    arch::store_shared(s.tile, i, arch::load(p.x, int64(arch::block().x) * kTile + i));
    arch::fence_proxy_async();
    arch::sync_block();
    if (i == 0) {
      arch::reduce_add_bulk(p.y, 0, s.tile, 0, kTile * sizeof(float));
      arch::bulk_commit();
      arch::bulk_wait_read<0>();
    }
  }
};

}  // namespace flashfit::testing
