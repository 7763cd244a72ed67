#pragma once
// Tensor cores by wgmma, both operands in shared memory, two warpgroups in turn: what products reach on 9.0.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "measure/kernel_params.hpp"
#include "measure/values.hpp"

namespace flashfit::measure {

template <class T>
struct WarpgroupLoop {
  static constexpr int kThreads = measure::kThreads, kMinBlocks = 1;
  static constexpr int kN = 256, kK = 64, kRepeats = 4;
  /// Of one step of one block: both warpgroups.
  static constexpr double kFlop = 2.0 * 2 * 64 * kN * kK * kRepeats;
  using Params = LoopParams;
  using ATile = PanelTile<T, 64, kK, SwizzleMode::k128B>;
  using BTile = PanelTile<T, kN, kK, SwizzleMode::k128B>;
  struct Shared {
    ATile a;
    BTile b;
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    const auto fill = [](T* s_data, int elements, uint64 key) {
      for (int i = 2 * arch::thread(); i < elements; i += 2 * kThreads)
        arch::store_shared(s_data, i, arch::pack<T>(bell(key, uint64(i)), bell(key, uint64(i + 1))));
    };
    fill(s.a.data, 64 * kK, 1);
    fill(s.b.data, kN * kK, 2);
    arch::fence_proxy_async();
    arch::sync_block();
    const uint32 a = arch::shared_address(s.a.data), b = arch::shared_address(s.b.data);
    float d[kN / 2] = {};
    for (int step = 0; step < p.steps; ++step) {
      arch::wgmma_fence(d);
#pragma unroll
      for (int i = 0; i < kRepeats; ++i)
#pragma unroll
        for (int k = 0; k < kK; k += 16)
          arch::wgmma_m64k16<T>(d, encode(ATile::k_major(a, 0, k)), encode(BTile::k_major(b, 0, k)), true);
      arch::wgmma_commit();
      arch::wgmma_wait<0>(d);
    }
    float sum = 0;
#pragma unroll
    for (int i = 0; i < kN / 2; ++i) sum += d[i];
    arch::store_if(sum == 0.123456789f, p.out, arch::thread(), sum);
  }
};

}  // namespace flashfit::measure
