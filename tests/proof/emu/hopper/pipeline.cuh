#pragma once
// A warp that copies, two that compute: bulk copies through a ring of stages, told to `full`, given back by `empty`.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = 2 x[i], tile by tile.
struct PipelineKernel {
  static constexpr int kTile = 256, kStages = 2, kConsumerWarps = 2;
  static constexpr int kThreads = 32 + 32 * kConsumerWarps, kMinBlocks = 1;
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
        arch::mbarrier_init(s.empty[i], kConsumerWarps);
      }
      arch::fence_mbarrier_init();
    }
    arch::sync_block();
    if (arch::warp() == 0) {
      if (arch::elect_one()) produce(p, s);
    } else {
      consume(p, s);
    }
  }

  static void produce(const Params& p, Shared& s) {
    for (int t = 0; t < p.tiles; ++t) {
      const int stage = t % kStages, phase = t / kStages % 2;
      arch::mbarrier_wait(s.empty[stage], phase ^ 1);  // the first round passes: nobody has used the stage
      arch::mbarrier_arrive_expect_tx(s.full[stage], sizeof s.tile[stage]);
      arch::copy_bulk_to_shared(s.tile[stage], 0, p.x, int64(t) * kTile, sizeof s.tile[stage], s.full[stage]);
    }
  }

  static void consume(const Params& p, Shared& s) {
    for (int t = 0; t < p.tiles; ++t) {
      const int stage = t % kStages, phase = t / kStages % 2;
      arch::mbarrier_wait(s.full[stage], phase);
      for (int i = arch::thread() - 32; i < kTile; i += 32 * kConsumerWarps)
        arch::store_if(true, p.y, int64(t) * kTile + i, 2 * arch::load_shared(s.tile[stage], i));
      arch::sync_warp();
      if (arch::lane() == 0) arch::mbarrier_arrive(s.empty[stage]);
    }
  }
};

}  // namespace flashfit::testing
