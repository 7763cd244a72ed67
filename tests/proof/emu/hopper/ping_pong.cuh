#pragma once
// Two groups of warps take turns on the same shared memory: each waits on a barrier of its own, which the other arrives
// at when it is done.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = x[i] after `turns` turns of v = 3 v + (0 for group 0, 1 for group 1), group 0 first.
struct PingPongKernel {
  static constexpr int kGroup = 64, kThreads = 2 * kGroup, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    int turns;  ///< even
  };
  struct Shared {
    alignas(128) float value[kGroup];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int group = arch::warp() / 2, i = arch::thread() % kGroup, own = 1 + group, other = 2 - group;
    if (group == 1) {
      arch::store_shared(s.value, i, arch::load(p.x, i));
      arch::named_barrier_arrive(other, kThreads);  // group 0 begins
    }
    for (int turn = group; turn < p.turns; turn += 2) {
      arch::named_barrier_sync(own, kThreads);
      arch::store_shared(s.value, i, 3 * arch::load_shared(s.value, i) + float(group));
      if (turn + 1 < p.turns) arch::named_barrier_arrive(other, kThreads);
    }
    if (group == 1) arch::store_if(true, p.y, i, arch::load_shared(s.value, i));
  }
};

}  // namespace flashfit::testing
