#pragma once
// Instantiates kernels: for the translation units of the shards, and of mutants, alone.
#include <utility>

#include "kernels/attention/forward/forward.cuh"
#include "kernels/attention/forward/variants_table.hpp"
#include "kernels/attention/forward/wgmma/forward.cuh"
#include "kernels/attention/forward/wgmma/heads/forward.cuh"
#include "proof/emulated/forward.hpp"
#include "proof/emulated/instance.cuh"

namespace flashfit::emulated {

/// `variant` is of this configuration, and outlives the kernel.
template <ForwardConfig Config>
EmulatedKernel emulated_forward(const ForwardVariant& variant) {
  if constexpr (takes_heads(Config))
    return emulated_kernel<WgmmaHeadsKernel<Config>>(kernel_variant_of(variant));
  else if constexpr (Config.engine == ForwardEngine::kWgmma)
    return emulated_kernel<WgmmaForwardKernel<Config>>(kernel_variant_of(variant));
  else
    return emulated_kernel<ForwardKernel<Config>>(kernel_variant_of(variant));
}

/// The variants First, First + Step, ... of the table.
template <int First, int Step>
void append_rows(std::vector<EmulatedKernel>& kernels) {
  constexpr int kRows = static_cast<int>(kForwardVariants.size());
  [&]<int... I>(std::integer_sequence<int, I...>) {
    (kernels.push_back(emulated_forward<kForwardVariants[First + I * Step].config>(kForwardVariants[First + I * Step])),
     ...);
  }(std::make_integer_sequence < int, First<kRows ? (kRows - First + Step - 1) / Step : 0>{});
}

}  // namespace flashfit::emulated
