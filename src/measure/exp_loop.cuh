#pragma once
// Exponentials and nothing else: sixteen independent chains a thread of x = 2^-x, which stay near 0.64.
#include "kernels/arch/arch.hpp"
#include "measure/kernel_params.hpp"

namespace flashfit::measure {

struct ExpLoop {
  static constexpr int kThreads = measure::kThreads, kMinBlocks = 2, kChains = 16;
  using Params = LoopParams;
  struct Shared {
    int none;
  };

  static void run(const Params& p) {
    float x[kChains];
#pragma unroll
    for (int i = 0; i < kChains; ++i) x[i] = float(arch::thread() + i) * 0.001f;
    for (int step = 0; step < p.steps; ++step)
#pragma unroll
      for (int i = 0; i < kChains; ++i) x[i] = arch::exp2(-x[i]);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kChains; ++i) sum += x[i];
    arch::store_if(sum == 0.123456789f, p.out, arch::thread(), sum);
  }
};

}  // namespace flashfit::measure
