#pragma once
// Copies of 16 bytes that arrive at mbarriers by themselves: a warp that only copies, and one that only computes.
#include "core/base/mbarrier.hpp"
#include "kernels/arch/arch.hpp"

namespace flashfit::testing {

/// y[i] = 2 x[i]. Counted: arrivals of copies are those that the barrier was made for (.noinc); else each thread still
/// arrives itself.
template <bool Counted>
struct CopyArriveKernel {
  static constexpr int kTile = 128, kStages = 2;
  static constexpr int kThreads = 64, kMinBlocks = 1;
  struct Params {
    const float* x;
    float* y;
    int tiles;
  };
  struct Shared {
    alignas(128) float tile[kStages][kTile];
    MBarrier full[kStages], empty[kStages];
  };

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    if (arch::thread() == 0)
      for (int i = 0; i < kStages; ++i) {
        arch::mbarrier_init(s.full[i], 32);
        arch::mbarrier_init(s.empty[i], 1);
      }
    arch::sync_block();
    if (arch::warp() == 0)
      produce(p, s);
    else
      consume(p, s);
  }

  static void produce(const Params& p, Shared& s) {
    for (int t = 0; t < p.tiles; ++t) {
      const int stage = t % kStages, phase = t / kStages % 2, i = arch::lane() * 4;
      arch::mbarrier_wait(s.empty[stage], phase ^ 1);
      arch::cp_async_16(s.tile[stage], i, p.x, int64(t) * kTile + i, true);
      if constexpr (Counted) {
        arch::cp_async_mbarrier_arrive_noinc(s.full[stage]);
      } else {
        arch::cp_async_mbarrier_arrive(s.full[stage]);
        arch::mbarrier_arrive(s.full[stage]);
      }
    }
  }

  static void consume(const Params& p, Shared& s) {
    for (int t = 0; t < p.tiles; ++t) {
      const int stage = t % kStages, phase = t / kStages % 2;
      arch::mbarrier_wait(s.full[stage], phase);
      for (int i = arch::lane(); i < kTile; i += 32)
        arch::store_if(true, p.y, int64(t) * kTile + i, 2 * arch::load_shared(s.tile[stage], i));
      arch::sync_warp();
      if (arch::lane() == 0) arch::mbarrier_arrive(s.empty[stage]);
    }
  }
};

}  // namespace flashfit::testing
