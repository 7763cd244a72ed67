#pragma once
// Instantiates the router's kernels: for the translation units of these, and of mutants, alone.
#include <utility>

#include "kernels/moe/route/route.cuh"
#include "kernels/moe/route/variants_table.hpp"
#include "proof/emulated/instance.cuh"
#include "proof/emulated/route.hpp"

namespace flashfit::emulated {

/// `variant` is of this configuration, and outlives the kernel.
template <RouteConfig Config>
EmulatedKernel emulated_route(const RouteVariant& variant) {
  return emulated_kernel<RouteKernel<Config>>(kernel_variant_of(variant));
}

}  // namespace flashfit::emulated
