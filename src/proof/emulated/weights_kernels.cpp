#include "kernels/moe/experts/weights/plan.hpp"
#include "kernels/moe/experts/weights/product.cuh"
#include "proof/emulated/instance.cuh"
#include "proof/emulated/weights_product.hpp"

namespace flashfit::emulated {

const std::vector<EmulatedKernel>& emulated_weights_products() {
  static const std::vector<EmulatedKernel> all = [] {
    constexpr auto& kAll = kWeightsProductVariants;
    return std::vector<EmulatedKernel>{
        emulated_kernel<WeightsProductKernel<kAll[0].config>>(kernel_variant_of(kAll[0])),
        emulated_kernel<WeightsProductKernel<kAll[1].config>>(kernel_variant_of(kAll[1]))};
  }();
  return all;
}

}  // namespace flashfit::emulated
