#pragma once
// Work shared among forked processes: NVRTC compiles one program at a time in a process.
#include <functional>
#include <string>
#include <vector>

#include "core/base/error.hpp"

namespace flashfit {

/// Calls work(i) for i in 0 .. count in `processes` children; each takes the next i that nobody has. A child reports
/// each i to `done` in the parent, in order of completion. The first error ends all and is returned.
/// Call it before the process has threads.
Result<void> run_in_processes(int count, int processes, const std::function<Result<void>(int)>& work,
                              const std::function<void(int)>& done);

}  // namespace flashfit
