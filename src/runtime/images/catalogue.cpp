#include "runtime/images/catalogue.hpp"

#include <algorithm>
#include <vector>

#include "kernels/attention/forward/variants.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/route/variants.hpp"

namespace flashfit {
namespace {

/// The operations that this library has: the one place that lists them.
constexpr std::vector<KernelRow> (*kOperations[])() = {
    forward_kernel_rows,
    route_kernel_rows,
    experts_kernel_rows,
};

}  // namespace

std::span<const KernelRow> catalogue() {
  static const std::vector<KernelRow> rows = [] {
    std::vector<KernelRow> all;
    for (const auto& rows_of : kOperations) std::ranges::move(rows_of(), std::back_inserter(all));
    return all;
  }();
  return rows;
}

std::span<const KernelRow> rows_of(std::string_view operation) {
  const auto of_operation = [&](const KernelRow& row) { return row.family->operation == operation; };
  const auto all = catalogue();
  const auto first = std::ranges::find_if(all, of_operation);
  return {first, std::find_if_not(first, all.end(), of_operation)};
}

const KernelRow* find_kernel_row(std::string_view name) {
  const auto all = catalogue();
  const auto found = std::ranges::find(all, name, &KernelRow::name);
  return found == all.end() ? nullptr : &*found;
}

}  // namespace flashfit
