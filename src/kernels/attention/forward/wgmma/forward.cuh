#pragma once
// Fused attention forward over wgmma and TMA, for 9.0a (docs/hopper-kernel.md).
// Blocks are persistent: each computes one tile of block_m query rows after another, its jobs. One warp schedules them,
// the producer warp copies their tiles; each of the block_m / 64 consumer warpgroups has 64 of the rows:
//   S(j) = Q K(j)^T and O += P(j - 1) V(j - 1) run together on the tensor cores; P(j) = exp2(S(j) c - b) is made
//   under the second of them, and under the products of the other warpgroups. The last P V of a job runs together with
//   the first Q K^T of the next.
// A row's base b is the maximum over its first tile of keys. Later ones are trusted not to pass it by much: their sums
// show whether one did (late_bases.cuh).
#include "kernels/arch/steps.hpp"
#include "kernels/attention/forward/wgmma/consumer.cuh"
#include "kernels/attention/forward/wgmma/producer.cuh"
#include "kernels/attention/forward/wgmma/scheduler.cuh"

namespace flashfit {

template <ForwardConfig C>
struct WgmmaForwardKernel {
  static_assert(forward_config_error(C) == nullptr && C.engine == ForwardEngine::kWgmma);
  using Params = WgmmaForwardParams;
  using Shared = WgmmaShared<C>;
  static_assert(sizeof(Shared) == shared_bytes_of(C));
  static constexpr int kThreads = forward_threads(C), kMinBlocks = 1;

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    if (arch::thread() == 0) s.init();
    arch::sync_block();
    arch::wait_for_step_before();
    // A launch gives each of 384 threads 168 registers, or each of 512 threads 128. Consumers then take those that the
    // producer's warpgroup releases.
    if (arch::warp() < C.warps) {
      arch::set_max_registers_inc<C.warps == 8 ? 240 : 160>();
      WgmmaConsumer<C>::run(p, s);
    } else {
      arch::set_max_registers_dec<C.warps == 8 ? 24 : 32>();
      if (arch::warp() == C.warps) WgmmaProducer<C>::run(p, s);
      if (arch::warp() == C.warps + 1) schedule_jobs<C>(p, s);
    }
  }
};

}  // namespace flashfit
