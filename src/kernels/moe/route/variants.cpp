#include "kernels/moe/route/variants.hpp"

#include <fmt/format.h>

#include <cassert>

#include "kernels/moe/route/variants_table.hpp"

namespace flashfit {
namespace {

std::string literal_of(const RouteConfig& c) {
  const char* const dtype = c.dtype == DType::kF16 ? "kF16" : c.dtype == DType::kBF16 ? "kBF16" : "kF32";
  return fmt::format("RouteConfig{{.dtype = DType::{}, .experts = {}, .warps = {}}}", dtype, c.experts, c.warps);
}

/// The numbers of experts that users ask a variant for: those that some variant of its dtype is made for, up to its
/// own.
std::vector<std::string> serves(const RouteConfig& c) {
  std::vector<std::string> names;
  for (const RouteVariant& v : kRouteVariants)
    if (v.config.dtype == c.dtype && v.config.experts <= c.experts)
      names.push_back(fmt::format("{} routing to {} experts", name_of(c.dtype), v.config.experts));
  return names;
}

}  // namespace

const KernelFamily kRouteFamily = {.operation = "moe.route", .name = "warp", .header = "kernels/moe/route/route.cuh"};

std::span<const RouteVariant> route_variants() { return kRouteVariants; }

std::string name_of(const RouteConfig& c) {
  return fmt::format("route_warp_{}_e{}_w{}", name_of(c.dtype), c.experts, c.warps);
}

KernelVariant kernel_variant_of(const RouteVariant& v) {
  return {.family = &kRouteFamily,
          .form = &v,
          .name = name_of(v.config),
          .type = fmt::format("RouteKernel<{}>", literal_of(v.config)),
          .targets = v.targets,
          .threads = route_threads(v.config),
          .shared_bytes = sizeof(int),
          .params_bytes = sizeof(RouteParams),
          .serves = serves(v.config)};
}

std::vector<KernelVariant> route_kernel_variants() {
  std::vector<KernelVariant> variants;
  for (const RouteVariant& v : kRouteVariants) variants.push_back(kernel_variant_of(v));
  return variants;
}

const RouteVariant& route_variant_of(const KernelVariant& variant) {
  assert(variant.family == &kRouteFamily);
  return *static_cast<const RouteVariant*>(variant.form);
}

}  // namespace flashfit
