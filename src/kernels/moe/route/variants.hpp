#pragma once
// The single table of compiled forms of the router's kernel: the build makes images from it, the plan chooses from it,
// tests run all of it. Host only.
#include <span>
#include <string>
#include <vector>

#include "core/launch/kernel_variant.hpp"
#include "kernels/moe/route/config.hpp"

namespace flashfit {

struct RouteVariant {
  RouteConfig config;
  std::span<const Target> targets;
};

std::span<const RouteVariant> route_variants();

/// "route_warp_fp16_e128_w4": the name in images, explanations and variant=.
std::string name_of(const RouteConfig& c);

extern const KernelFamily kRouteFamily;

/// A variant as the catalogue has it. `variant` must outlive it.
KernelVariant kernel_variant_of(const RouteVariant& variant);
/// The whole table.
std::vector<KernelVariant> route_kernel_variants();
/// What kernel_variant_of() was made of.
const RouteVariant& route_variant_of(const KernelVariant& variant);

}  // namespace flashfit
