#pragma once
// The product that gives gradients of experts' weights, over wgmma and TMA, for 9.0a (docs/moe-kernels.md, "Gradients
// of weights"). Both operands are row-major, and rows are what is summed over: to wgmma both are transposed. Blocks are
// persistent: one producer warp copies, two consumer warpgroups multiply.
#include "kernels/arch/steps.hpp"
#include "kernels/moe/experts/weights/consumer.cuh"
#include "kernels/moe/experts/weights/producer.cuh"

namespace flashfit {

template <WeightsProductConfig C>
struct WeightsProductKernel {
  static_assert(weights_product_config_error(C) == nullptr);
  using Params = WeightsProductParams;
  using Shared = WeightsShared<C>;
  static_assert(sizeof(Shared) == weights_product_shared_bytes(C));
  static constexpr int kThreads = kWeightsThreads, kMinBlocks = 1;

  static void run(const Params& p) {
    Shared& s = arch::shared<Shared>();
    if (arch::thread() == 0) s.init();
    arch::sync_block();
    arch::wait_for_step_before();
    // A launch gives each of 384 threads 168 registers. Consumers then take those that the producer's warpgroup
    // releases.
    const int group = arch::warp() / 4;
    if (group == 0) {
      arch::set_max_registers_dec<40>();
      if (arch::warp() == 0) WeightsProducer<C>::run(p, s);
    } else {
      arch::set_max_registers_inc<232>();
      WeightsConsumer<C>::run(p, s, group - 1);
    }
  }
};

}  // namespace flashfit
