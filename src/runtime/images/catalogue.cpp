#include "runtime/images/catalogue.hpp"

#include <algorithm>
#include <vector>

#include "kernels/attention/forward/combine/variants.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "kernels/moe/experts/gradient/plan.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/experts/weights/plan.hpp"
#include "kernels/moe/route/variants.hpp"

namespace flashfit {
namespace {

/// The operations that this library has: the one place that lists them.
constexpr std::vector<KernelVariant> (*kOperations[])() = {
    forward_kernel_variants, combine_kernel_variants,      route_kernel_variants,
    experts_kernel_variants, activation_gradient_variants, weights_product_variants,
};

}  // namespace

std::span<const KernelVariant> catalogue() {
  static const std::vector<KernelVariant> variants = [] {
    std::vector<KernelVariant> all;
    for (const auto& rows_of : kOperations) std::ranges::move(rows_of(), std::back_inserter(all));
    return all;
  }();
  return variants;
}

std::span<const KernelVariant> variants_of(std::string_view operation) {
  const auto of_operation = [&](const KernelVariant& variant) { return variant.family->operation == operation; };
  const auto all = catalogue();
  const auto first = std::ranges::find_if(all, of_operation);
  return {first, std::find_if_not(first, all.end(), of_operation)};
}

const KernelVariant* find_kernel_variant(std::string_view name) {
  const auto all = catalogue();
  const auto found = std::ranges::find(all, name, &KernelVariant::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace flashfit
