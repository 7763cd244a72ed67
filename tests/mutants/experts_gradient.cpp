// The kernel of activations' gradients in fp16, compiled from a copy of the sources with one defect, on calls of every
// activation. Exit 0: all right; 1: the first defect found, in one line.
#include <cstdio>

#include "kernels/moe/experts/gradient/gradient.cuh"
#include "kernels/moe/experts/gradient/plan.hpp"
#include "kernels/moe/experts/gradient_data.hpp"
#include "proof/emulated/instance.cuh"

int main() {
  using namespace flashfit;
  constexpr auto& kVariant = kActivationGradientVariants[0];
  const auto kernel = emulated::emulated_kernel<ActivationGradientKernel<kVariant.config>>(kernel_variant_of(kVariant));
  const std::string defect = testing::first_defect_of_gradients(kernel);
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
