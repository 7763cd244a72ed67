#pragma once
// Each block leaves a part of a sum in global memory; the last one to say so fetches all parts by bulk copies.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = the sum over all blocks b of x[b][i]. `done` is 0 before.
struct LastBlockKernel {
  static constexpr int kTile = 64, kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float *y, *parts;  ///< parts: [blocks][kTile]
    int* done;
  };
  struct Shared {
    alignas(128) float part[kTile];
    MBarrier full;
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int i = arch::thread(), blocks = arch::grid().x;
    if (i == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
    }
    const int64 mine = int64(arch::block().x) * kTile + i;
    arch::store_if(true, p.parts, mine, arch::load(p.x, mine));
    arch::sync_block();  // the block's part is there, for who tells others of it
    int before = 0;
    if (i == 0) before = arch::atomic_add<arch::MemoryOrder::kAcqRel>(p.done, 0, 1);
    if (!arch::sync_block_or(i == 0 && before == blocks - 1)) return;
    float sum = 0;
    for (int b = 0; b < blocks; ++b) {
      if (i == 0) {
        arch::fence_proxy_async_global();  // generic stores, of other blocks too
        arch::mbarrier_arrive_expect_tx(s.full, sizeof s.part);
        arch::copy_bulk_to_shared(s.part, 0, p.parts, int64(b) * kTile, sizeof s.part, s.full);
      }
      arch::mbarrier_wait(s.full, b % 2);
      sum += arch::load_shared(s.part, i);
      arch::sync_block();  // before the next copy
    }
    arch::store_if(true, p.y, i, sum);
  }
};

}  // namespace flashfit::testing
