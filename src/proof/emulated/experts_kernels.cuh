#pragma once
// Instantiates the experts' kernels: for the translation units of these, and of mutants, alone.
#include "kernels/moe/experts/product.cuh"
#include "kernels/moe/experts/rows.cuh"
#include "kernels/moe/experts/variants_table.hpp"
#include "kernels/moe/experts/wgmma/product.cuh"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/instance.cuh"

namespace flashfit::emulated {

/// `variant` is of this configuration, and outlives the kernel.
template <ExpertsRowsConfig Config>
EmulatedKernel emulated_experts_rows_kernel(const ExpertsRowsVariant& variant) {
  return emulated_kernel<ExpertsRowsKernel<Config>>(kernel_variant_of(variant));
}
template <ExpertsProductConfig Config>
EmulatedKernel emulated_experts_product(const ExpertsProductVariant& variant) {
  if constexpr (Config.engine == ExpertsEngine::kWgmma)
    return emulated_kernel<WgmmaExpertsProductKernel<Config>>(kernel_variant_of(variant));
  else
    return emulated_kernel<ExpertsProductKernel<Config>>(kernel_variant_of(variant));
}

}  // namespace flashfit::emulated
