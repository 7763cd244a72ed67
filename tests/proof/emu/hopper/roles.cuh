#pragma once
// A warpgroup that copies gives its registers to two that compute.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = x[i] squared.
struct RolesKernel {
  static constexpr int kTile = 256, kThreads = 384, kMinBlocks = 1;
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
    if (arch::thread() == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
    }
    arch::sync_block();
    if (arch::warp() < 4) {
      arch::set_max_registers_dec<24>();
      if (arch::thread() == 0) {
        arch::mbarrier_arrive_expect_tx(s.full, sizeof s.tile);
        arch::copy_bulk_to_shared(s.tile, 0, p.x, 0, sizeof s.tile, s.full);
      }
    } else {
      arch::set_max_registers_inc<240>();
      arch::mbarrier_wait(s.full, 0);
      const int i = arch::thread() - 128;
      const float v = arch::load_shared(s.tile, i);
      arch::store_if(true, p.y, i, v * v);
    }
  }
};

}  // namespace flashfit::testing
