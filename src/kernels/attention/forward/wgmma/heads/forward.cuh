#pragma once
// Fused attention forward over wgmma and TMA whose blocks take whole heads or rounds of them, for short sequences
// (docs/hopper-kernel.md).
#include "kernels/arch/steps.hpp"
#include "kernels/attention/forward/wgmma/heads/consumer.cuh"
#include "kernels/attention/forward/wgmma/heads/producer.cuh"

namespace flashfit {

template <ForwardConfig C>
struct WgmmaHeadsKernel {
  static_assert(config_error_of(C) == nullptr && takes_heads(C) && C.kind == ForwardKind::kPlain && !C.packs);
  using Params = WgmmaForwardParams;
  using Shared = WgmmaHeadsShared<C>;
  static_assert(sizeof(Shared) == shared_bytes_of(C));
  static constexpr int kThreads = forward_threads(C), kMinBlocks = 1;

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    if (arch::thread() == 0) s.init();
    arch::sync_block();
    arch::wait_for_step_before();
    if (arch::warp() < C.warps) {
      // Of what the launch has, 96 a thread where there are four warpgroups.
      arch::set_max_registers_inc<C.warps == 8 ? 240 : C.warps == 12 ? 160 : 112>();
      WgmmaHeadsConsumer<C>::run(p, s);
    } else {
      arch::set_max_registers_dec<C.warps == 12 ? 32 : 24>();
      if (arch::warp() == C.warps && arch::elect_one()) copy_heads<C>(p, s);
    }
  }
};

}  // namespace flashfit
