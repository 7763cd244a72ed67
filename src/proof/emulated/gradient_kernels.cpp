#include "kernels/moe/experts/gradient/gradient.cuh"
#include "kernels/moe/experts/gradient/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/activation_gradient.hpp"
#include "proof/emulated/instance.cuh"
#include "proof/emulated/steps.hpp"

namespace flashfit::emulated {

const std::vector<EmulatedKernel>& emulated_activation_gradients() {
  static const std::vector<EmulatedKernel> all = [] {
    constexpr auto& kAll = kActivationGradientVariants;
    return std::vector<EmulatedKernel>{
        emulated_kernel<ActivationGradientKernel<kAll[0].config>>(kernel_variant_of(kAll[0])),
        emulated_kernel<ActivationGradientKernel<kAll[1].config>>(kernel_variant_of(kAll[1]))};
  }();
  return all;
}

Result<emu::Stats> run(const EmulatedKernel& kernel, const ActivationGradientParams& params, const emu::Memory& memory,
                       const emu::Options& options) {
  const Image image{
      .variant = &kernel.variant, .target = {}, .registers = 0, .local_bytes = 0, .bytes = 0, .entry = {}};
  const void* const arguments[] = {&params};
  return run_steps(activation_gradient_steps(image, params).all(), arguments, {&kernel, 1}, memory, options);
}

}  // namespace flashfit::emulated
