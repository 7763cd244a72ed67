#pragma once
// Two blocks that need the same tiles: each fetches half of every tile for both. A stage is free when both have read
// it.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// Block b of a pair: y[b][i] = (b + 1) x[i]. The grid is one pair.
struct MulticastKernel {
  static constexpr int kCluster = 2, kTile = 128, kStages = 2;
  static constexpr int kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    int tiles;
  };
  struct Shared {
    alignas(128) float tile[kStages][kTile];
    MBarrier full[kStages], empty[kStages];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    if (arch::thread() == 0) {
      for (int i = 0; i < kStages; ++i) {
        arch::mbarrier_init(s.full[i], 1);
        arch::mbarrier_init(s.empty[i], kCluster);
      }
      arch::fence_mbarrier_init();
    }
    sync_cluster();
    if (arch::warp() == 0) {
      if (arch::elect_one()) produce(p, s);
    } else {
      consume(p, s);
    }
    arch::sync_warp();
    sync_cluster();  // the other block may still write into this one, and arrive at its barriers
  }

  static void sync_cluster() {
    arch::cluster_arrive();
    arch::cluster_wait();
  }

  static void produce(const Params& p, Shared& s) {
    constexpr int kHalf = kTile / kCluster;
    const int half = arch::block_in_cluster() * kHalf;
    for (int t = 0; t < p.tiles; ++t) {
      const int stage = t % kStages, phase = t / kStages % 2;
      arch::mbarrier_wait_cluster(s.empty[stage], phase ^ 1);
      arch::mbarrier_arrive_expect_tx(s.full[stage], kTile * sizeof(float));
      arch::copy_bulk_to_blocks(s.tile[stage], half, p.x, int64(t) * kTile + half, kHalf * sizeof(float), s.full[stage],
                                3);
    }
  }

  static void consume(const Params& p, Shared& s) {
    const int block = arch::block_in_cluster();
    for (int t = 0; t < p.tiles; ++t) {
      const int stage = t % kStages, phase = t / kStages % 2;
      arch::mbarrier_wait(s.full[stage], phase);
      for (int i = arch::lane(); i < kTile; i += 32)
        arch::store_if(true, p.y, (int64(block) * p.tiles + t) * kTile + i,
                       float(block + 1) * arch::load_shared(s.tile[stage], i));
      arch::sync_warp();
      if (arch::lane() < kCluster) arch::mbarrier_arrive_remote(s.empty[stage], arch::lane());
    }
  }
};

}  // namespace flashfit::testing
