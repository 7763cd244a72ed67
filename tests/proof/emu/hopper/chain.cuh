#pragma once
// Each block waits for the one before it: what it left, and a flag.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[b][i] = the sum of x[0][i] .. x[b][i]. flags: [blocks], 0 before. Blocks are begun in their order, and all of
/// these fit on a GPU at once.
struct ChainKernel {
  static constexpr int kTile = 32, kThreads = 32, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    int* flags;
  };
  struct Shared {};

  static void run(const Params& p) {
    const int b = arch::block().x, i = arch::lane();
    const int64 mine = int64(b) * kTile + i;
    float sum = arch::load(p.x, mine);
    if (b > 0) {
      if (i == 0)
        while (arch::load_acquire(p.flags, b - 1) == 0) continue;
      arch::sync_warp();
      sum += arch::load(p.y, mine - kTile);
    }
    arch::store_if(true, p.y, mine, sum);
    arch::sync_warp();
    if (i == 0) arch::store_release(p.flags, b, 1);
  }
};

}  // namespace flashfit::testing
