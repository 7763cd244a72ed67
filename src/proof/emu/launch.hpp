#pragma once
// Runs a kernel of the arch contract on the CPU.
#include "proof/emu/grid.hpp"

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

template <class Kernel>
Program program_of(const typename Kernel::Params& params) {
  static_assert(Kernel::kThreads % kLanes == 0 && Kernel::kThreads >= kLanes &&
                Kernel::kThreads <= Machine::kMaxThreads);
  static_assert(cluster_of<Kernel>() >= 1 && cluster_of<Kernel>() <= Machine::kMaxCluster);
  return {.run = [](const void* p) { Kernel::run(*static_cast<const typename Kernel::Params*>(p)); },
          .params = &params,
          .params_bytes = sizeof params,  // NOLINT(bugprone-sizeof-expression): they may be a pointer
          .threads = Kernel::kThreads,
          .shared_bytes = sizeof(typename Kernel::Shared),
          .cluster = cluster_of<Kernel>(),
          .min_blocks = min_blocks_of<Kernel>()};
}

/// Runs every block of `grid`. `memory` names what the kernel may touch; all
/// that it touches must outlive the call. A finding (an access outside or
/// unordered, a barrier or collective that lanes do not share, a deadlock) ends
/// the launch: kInternal, with one line that names kernel, block, warp, lane,
/// schedule, seed and source line.
template <class Kernel>
Result<Stats> launch(Index3 grid, const typename Kernel::Params& params, const Memory& memory,
                     const Options& options = {}) {
  return run_grid(program_of<Kernel>(params), grid, memory, options);
}

/// A grid of two that run after one another. All of it must outlive the launch.
template <class Kernel>
struct DependentGrid {
  const char* name;  ///< in findings
  Index3 grid;
  const typename Kernel::Params& params;
  const Memory& memory;
};

/// Runs two grids, the second as a programmatic dependent launch: it may begin before the first has ended, once each of
/// its blocks has launched dependents or ended, and sees what the first one wrote from its grid_dependency_wait on.
template <class First, class Second>
Result<Stats> launch_dependent(const DependentGrid<First>& first, const DependentGrid<Second>& second,
                               const Options& options = {}) {
  const GridLaunch grids[] = {{program_of<First>(first.params), first.grid, first.memory, first.name},
                              {program_of<Second>(second.params), second.grid, second.memory, second.name}};
  return run_dependent_grids(grids, options);
}

}  // namespace flashfit::emu
