#pragma once
// One of the experts' two products over wgmma and TMA, for 9.0a (docs/moe-kernels.md, "The product on Hopper"); what it
// computes is what product.cuh does.
// Weights are wgmma's m, an expert's rows its n: n follows the rows in steps of 16, where m would be 64. Blocks are
// persistent. One producer thread copies slices of weights, and of rows that lie in order; warps beside it gather
// others. Of two consumer warpgroups each has twice 64 of the tile's 256 outputs, or of three each has 64 of 192. A
// feature's gate and its up are in the same thread.
#include "kernels/arch/steps.hpp"
#include "kernels/moe/experts/wgmma/consumer.cuh"
#include "kernels/moe/experts/wgmma/producer.cuh"
#include "kernels/moe/experts/wgmma/row_gatherer.cuh"
#include "kernels/moe/experts/wgmma/token_sums.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
struct WgmmaExpertsProductKernel {
  static_assert(experts_product_config_error(C) == nullptr && C.engine == ExpertsEngine::kWgmma);
  using Params = WgmmaExpertsParams;
  using Shared = WgmmaExpertsShared<C>;
  static_assert(sizeof(Shared) == experts_product_shared_bytes(C));
  static constexpr int kThreads = experts_product_threads(C), kMinBlocks = 1;

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    if (arch::thread() == 0) s.init(p.gathers != 0);
    arch::sync_block();
    if (p.product.sorted_before == 0) arch::wait_for_step_before();
    arch::let_next_step_begin();
    // A launch gives each of 384 threads 168 registers, or each of 512 threads 128. Consumers then take those that the
    // producer's warpgroup releases.
    const int group = arch::warp() / 4;
    if (group == 0) {
      arch::set_max_registers_dec<56>();
      const int warp = arch::warp();
      if (warp == 0 && arch::elect_one()) WgmmaExpertsProducer<C>::run(p, s);
      if (warp > 0 && p.gathers != 0) ExpertsRowGatherer<C>::run(p, s, warp - 1);
      if constexpr (experts_sums(C))
        if (warp > 0 && p.phases.count > 1) ExpertsTokenSums<C>::run(p, s, warp - 1);
    } else {
      arch::set_max_registers_inc<Shared::kGroups == 2 ? 224 : 152>();
      WgmmaExpertsConsumer<C>::run(p, s, group - 1);
    }
  }
};

}  // namespace flashfit
