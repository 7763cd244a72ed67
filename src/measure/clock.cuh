#pragma once
// The clock of an SM: cycles that pass in a stretch of the timer.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/cuda/timers.hpp"
#include "measure/kernel_params.hpp"

namespace flashfit::measure {

struct Clock {
  static constexpr int kThreads = 32, kMinBlocks = 1;
  using Params = ClockParams;
  struct Shared {
    int none;
  };

  static void run(const Params& p) {
    // The timer advances in steps: both ends are taken right after one.
    const auto step_after = [](uint64 from) {
      uint64 now = arch::nanoseconds();
      while (now <= from) now = arch::nanoseconds();
      return now;
    };
    const uint64 begin = step_after(arch::nanoseconds()), begin_cycles = arch::cycles();
    const uint64 end = step_after(begin + uint64(p.nanoseconds)), end_cycles = arch::cycles();
    arch::store_if(arch::thread() == 0, p.out, 0, end_cycles - begin_cycles);
    arch::store_if(arch::thread() == 0, p.out, 1, end - begin);
  }
};

}  // namespace flashfit::measure
