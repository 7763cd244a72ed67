#pragma once
// Runs a kernel of the arch contract on the CPU.
#include "emu/machine.hpp"

namespace flashfit::emu {

/// Runs every block of `grid`, one after another. `memory` names what the kernel may touch; all that it touches must
/// outlive the call. A finding (an access outside, a barrier or collective that lanes do not share, a deadlock) ends
/// the launch: kInternal, with one line that names kernel, block, warp, lane, schedule, seed and source line.
template <class Kernel>
Result<Stats> launch(Index3 grid, const typename Kernel::Params& params, const Memory& memory,
                     const Options& options = {}) {
  static_assert(Kernel::kThreads % kLanes == 0 && Kernel::kThreads >= kLanes &&
                Kernel::kThreads <= Machine::kMaxThreads);
  const Program program{.run = [](const void* p) { Kernel::run(*static_cast<const typename Kernel::Params*>(p)); },
                        .params = &params,
                        .threads = Kernel::kThreads,
                        .shared_bytes = sizeof(typename Kernel::Shared)};
  return Machine(program, memory, options).run(grid);
}

}  // namespace flashfit::emu
