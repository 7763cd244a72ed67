#include "runtime/images/catalogue.hpp"

#include <algorithm>
#include <vector>

#include "kernels/attention/forward/variants.hpp"
#include "kernels/moe/route/variants.hpp"

namespace flashfit {
namespace {

/// The families that this library has: the one place that lists them.
constexpr std::vector<KernelRow> (*kFamilies[])() = {
    forward_kernel_rows,
    route_kernel_rows,
};

}  // namespace

std::span<const KernelRow> catalogue() {
  static const std::vector<KernelRow> rows = [] {
    std::vector<KernelRow> all;
    for (const auto& family : kFamilies) std::ranges::move(family(), std::back_inserter(all));
    return all;
  }();
  return rows;
}

std::span<const KernelRow> rows_of(const KernelFamily& family) {
  const auto of_family = [&](const KernelRow& row) { return row.family == &family; };
  const auto all = catalogue();
  const auto first = std::ranges::find_if(all, of_family);
  return {first, std::find_if_not(first, all.end(), of_family)};
}

const KernelRow* find_kernel_row(std::string_view name) {
  const auto all = catalogue();
  const auto found = std::ranges::find(all, name, &KernelRow::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace flashfit
