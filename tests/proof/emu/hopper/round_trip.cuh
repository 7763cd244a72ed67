#pragma once
// A block's generic stores to global memory, read back by a bulk copy: another proxy, so a barrier is not enough.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = 2 (x[i] + 1), where x[i] + 1 goes through y and shared memory.
struct RoundTripKernel {
  static constexpr int kTile = 64, kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
  };
  struct Shared {
    alignas(128) float tile[kTile];
    MBarrier full;
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int i = arch::thread();
    if (i == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
    }
    arch::store_if(true, p.y, i, arch::load(p.x, i) + 1);
    arch::fence_proxy_async_global();
    arch::sync_block();
    if (i == 0) {
      arch::mbarrier_arrive_expect_tx(s.full, sizeof s.tile);
      arch::copy_bulk_to_shared(s.tile, 0, p.y, 0, sizeof s.tile, s.full);
    }
    arch::mbarrier_wait(s.full, 0);
    arch::store_if(true, p.y, i, 2 * arch::load_shared(s.tile, i));
  }
};

}  // namespace flashfit::testing
