#include "kernels/moe/experts/gradient/gradient.cuh"
#include "kernels/moe/experts/gradient/plan.hpp"
#include "proof/emulated/activation_gradient.hpp"
#include "proof/emulated/instance.cuh"

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

}  // namespace flashfit::emulated
