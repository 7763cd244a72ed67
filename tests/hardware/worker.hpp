#pragma once
// Checks in a process of their own: one that crashes, hangs or breaks the GPU's context costs its own result alone.
#include <functional>
#include <span>
#include <string>

#include "hardware/check.hpp"

namespace flashfit::hardware {

struct Finished {
  const Check& check;
  Outcome outcome;
  double seconds;
};

/// Runs all of them on GPU `device`, or, if `rehearsal` names a compute capability, with the emulator in its place;
/// each for at most `seconds`; a new process follows one that ended. `describe` gets the GPU once, `done` each result,
/// in order. Call it before this process opens the driver. Error: there is no GPU.
Result<void> run_checks(std::span<const Check> checks, int device, ComputeCapability rehearsal, double seconds,
                        const std::function<void(const Json& gpu)>& describe,
                        const std::function<void(const Finished&)>& done);

}  // namespace flashfit::hardware
