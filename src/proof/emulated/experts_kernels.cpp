#include "proof/emulated/experts_kernels.cuh"

#include <utility>

namespace flashfit::emulated {

const std::vector<EmulatedKernel>& emulated_experts_rows() {
  static const std::vector<EmulatedKernel> all = [] {
    std::vector<EmulatedKernel> kernels;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (kernels.push_back(emulated_experts_rows_kernel<kExpertsRowsVariants[I].config>(kExpertsRowsVariants[I])), ...);
    }(std::make_integer_sequence<int, static_cast<int>(kExpertsRowsVariants.size())>{});
    return kernels;
  }();
  return all;
}

const std::vector<EmulatedKernel>& emulated_experts_products() {
  static const std::vector<EmulatedKernel> all = [] {
    std::vector<EmulatedKernel> kernels;
    [&]<int... I>(std::integer_sequence<int, I...>) {
      (kernels.push_back(emulated_experts_product<kExpertsProductVariants[I].config>(kExpertsProductVariants[I])), ...);
    }(std::make_integer_sequence<int, static_cast<int>(kExpertsProductVariants.size())>{});
    return kernels;
  }();
  return all;
}

}  // namespace flashfit::emulated
