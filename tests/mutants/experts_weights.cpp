// The product that gives gradients of weights in fp16, compiled from a copy of the sources with one defect, on all of
// its cases. Exit 0: all right; 1: the first defect found, in one line.
#include <cstdio>

#include "kernels/moe/experts/rows.cuh"
#include "kernels/moe/experts/variants_table.hpp"
#include "kernels/moe/experts/weights/product.cuh"
#include "kernels/moe/experts/weights_data.hpp"
#include "proof/emulated/instance.cuh"

int main() {
  using namespace flashfit;
  constexpr auto& kRows = kExpertsRowsVariants[0];
  constexpr auto& kProduct = kWeightsProductVariants[0];
  const auto rows = emulated::emulated_kernel<ExpertsRowsKernel<kRows.config>>(kernel_variant_of(kRows));
  const auto product = emulated::emulated_kernel<WeightsProductKernel<kProduct.config>>(kernel_variant_of(kProduct));
  const std::string defect = testing::first_defect_of_weights(rows, product);
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
