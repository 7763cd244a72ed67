#pragma once
// What a cluster has beside its threads and their shared memory. Made for kernels that use some of it.
#include <vector>

#include "proof/emu/bulk_copies.hpp"
#include "proof/emu/cluster_barrier.hpp"
#include "proof/emu/mbarriers.hpp"
#include "proof/emu/register_pool.hpp"
#include "proof/emu/warp_barrier.hpp"

namespace flashfit::emu {

struct Engines {
  Engines(int threads, int block_warps, int registers)
      : cluster(threads),
        registers(static_cast<std::size_t>(threads / 32 / block_warps), RegisterPool(block_warps, registers)),
        warps(static_cast<std::size_t>(threads / 32)) {}

  MBarriers mbarriers;
  BulkCopies bulk;
  ClusterBarrier cluster;
  std::vector<RegisterPool> registers;  ///< a block
  std::vector<WarpBarrier> warps;
};

}  // namespace flashfit::emu
