#pragma once
// Tensor cores and nothing else: products of registers by mma.sync, eight independent sums a warp. Random operands, as
// power and clocks depend on the bits that change.
#include "kernels/arch/arch.hpp"
#include "measure/kernel_params.hpp"
#include "measure/values.hpp"

namespace flashfit::measure {

template <class T>
struct ProductLoop {
  static constexpr int kThreads = measure::kThreads, kMinBlocks = 2, kSums = 8;
  /// Of one step of one warp.
  static constexpr double kFlop = 2.0 * 16 * 8 * 16 * kSums;
  using Params = LoopParams;
  struct Shared {
    int none;
  };

  static void run(const Params& p) {
    const auto operand = [](int i) {
      const uint64 at = uint64(arch::thread()) * 64 + uint64(i) * 2;
      return arch::pack<T>(bell(1, at), bell(1, at + 1));
    };
    uint32 a[2][4], b[kSums][2];
    for (int i = 0; i < 8; ++i) a[i / 4][i % 4] = operand(i);
#pragma unroll
    for (int i = 0; i < 2 * kSums; ++i) b[i / 2][i % 2] = operand(8 + i);
    float d[kSums][4] = {};
    for (int step = 0; step < p.steps; ++step)
#pragma unroll
      for (int i = 0; i < kSums; ++i) arch::mma_m16n8k16<T>(d[i], a[i % 2], b[i][0], b[i][1]);
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kSums; ++i) sum += d[i][0] + d[i][1] + d[i][2] + d[i][3];
    arch::store_if(sum == 0.123456789f, p.out, arch::thread(), sum);
  }
};

}  // namespace flashfit::measure
