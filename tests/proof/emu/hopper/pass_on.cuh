#pragma once
// Each block of a cluster sends its tile into the next one's shared memory by a bulk copy.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[b][i] = x[b - 1][i] + x[b][i], where the block before the first one is the last one. The grid is one cluster.
struct PassOnKernel {
  static constexpr int kCluster = 4, kTile = 64, kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
  };
  struct Shared {
    alignas(128) float own[kTile], received[kTile];
    MBarrier full;
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int i = arch::thread(), block = arch::block_in_cluster();
    const int64 mine = int64(block) * kTile + i;
    if (i == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
    }
    arch::store_shared(s.own, i, arch::load(p.x, mine));
    arch::fence_proxy_async();
    arch::cluster_arrive();
    arch::cluster_wait();  // all have started, with their barriers and tiles
    if (i == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, sizeof s.received);
      arch::copy_bulk_to_block(s.received, 0, s.own, 0, sizeof s.own, s.full, (block + 1) % kCluster);
    }
    arch::mbarrier_wait(s.full, 0);
    arch::store_if(true, p.y, mine, arch::load_shared(s.own, i) + arch::load_shared(s.received, i));
    arch::cluster_arrive();
    arch::cluster_wait();  // the next block has what this one sends
  }
};

}  // namespace flashfit::testing
