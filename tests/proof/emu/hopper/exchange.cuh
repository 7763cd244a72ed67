#pragma once
// Blocks of a cluster write into each other's shared memory.
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// Block b of a cluster of four: y[b][i] = the sum over all blocks c of x[c][b][i].
struct ExchangeKernel {
  static constexpr int kCluster = 4, kThreads = 32, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
  };
  struct Shared {
    alignas(128) float from[kCluster][kThreads];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const int block = arch::block_in_cluster(), i = arch::lane();
    arch::cluster_arrive();
    arch::cluster_wait();  // all have started
    for (int to = 0; to < kCluster; ++to)
      arch::store_remote(s.from[block], i, arch::load(p.x, (int64(block) * kCluster + to) * kThreads + i), to);
    arch::cluster_arrive();
    arch::cluster_wait();  // all have written
    float sum = 0;
    for (const auto& part : s.from) sum += arch::load_shared(part, i);
    arch::store_if(true, p.y, int64(block) * kThreads + i, sum);
  }
};

}  // namespace flashfit::testing
