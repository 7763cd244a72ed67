#pragma once
// Runs a kernel of the arch contract on the CPU.
#include "emu/grid.hpp"

namespace flashfit::emu {

/// Blocks of a cluster: the kernel's kCluster, along x.
template <class Kernel>
constexpr int cluster_of() {
  if constexpr (requires { Kernel::kCluster; })
    return Kernel::kCluster;
  else
    return 1;
}

template <class Kernel>
constexpr int min_blocks_of() {
  if constexpr (requires { Kernel::kMinBlocks; })
    return Kernel::kMinBlocks;
  else
    return 1;
}

/// Runs every block of `grid`. `memory` names what the kernel may touch; all
/// that it touches must outlive the call. A finding (an access outside or
/// unordered, a barrier or collective that lanes do not share, a deadlock) ends
/// the launch: kInternal, with one line that names kernel, block, warp, lane,
/// schedule, seed and source line.
template <class Kernel>
Result<Stats> launch(Index3 grid, const typename Kernel::Params& params, const Memory& memory,
                     const Options& options = {}) {
  static_assert(Kernel::kThreads % kLanes == 0 && Kernel::kThreads >= kLanes &&
                Kernel::kThreads <= Machine::kMaxThreads);
  const Program program{.run = [](const void* p) { Kernel::run(*static_cast<const typename Kernel::Params*>(p)); },
                        .params = &params,
                        .threads = Kernel::kThreads,
                        .shared_bytes = sizeof(typename Kernel::Shared),
                        .cluster = cluster_of<Kernel>(),
                        .min_blocks = min_blocks_of<Kernel>()};
  static_assert(cluster_of<Kernel>() >= 1 && cluster_of<Kernel>() <= Machine::kMaxCluster);
  return run_grid(program, grid, memory, options);
}

}  // namespace flashfit::emu
