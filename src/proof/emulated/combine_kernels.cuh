#pragma once
// Instantiates the kernels that combine parts of keys: for one translation unit of these, and of mutants, alone.
#include <utility>

#include "kernels/attention/forward/combine/combine.cuh"
#include "kernels/attention/forward/combine/variants.hpp"
#include "proof/emulated/forward.hpp"
#include "proof/emulated/instance.cuh"

namespace flashfit::emulated {

/// Each of the table.
inline std::vector<EmulatedKernel> combine_instances() {
  std::vector<EmulatedKernel> kernels;
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (kernels.push_back(
         emulated_kernel<CombineKernel<kCombineVariants[I].config>>(kernel_variant_of(kCombineVariants[I]))),
     ...);
  }(std::make_integer_sequence<int, static_cast<int>(kCombineVariants.size())>{});
  return kernels;
}

}  // namespace flashfit::emulated
