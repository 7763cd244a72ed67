// The experts' kernels of fp16, compiled from a copy of the sources with one defect, on a sample of their cases, each
// under one schedule. Exit 0: all right; 1: the first defect found, in one line.
#include <cstdio>
#include <vector>

#include "kernels/moe/experts/cases.hpp"
#include "kernels/moe/experts/one_token.hpp"
#include "kernels/moe/experts/ordered_rows.hpp"
#include "kernels/moe/experts/routed_order.hpp"
#include "kernels/moe/experts/row_order.hpp"
#include "kernels/moe/experts/token_rows_data.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts_kernels.cuh"
#include "proof/emulated/route_kernels.cuh"
#include "proof/emulated/steps.hpp"

namespace flashfit::testing {
namespace {

/// Of a backward's order of rows, of four experts and choices of none, in one chunk and in two.
std::string defect_of_order(const emulated::EmulatedKernel& rows, int count) {
  constexpr int kLow = 1, kExperts = 4;
  std::vector<int> ids;
  for (int i = 0; i < count; ++i) ids.push_back(i * i % 7);
  OrderedRows ordered({.tokens = count, .top_k = 1, .low = kLow, .experts = kExperts});
  emu::Memory memory;
  memory.read_only("ids", ids.data(), ids.size() * sizeof(int));
  ordered.add_to(memory);
  const RowOrderArguments arguments = ordered.arguments(ids.data());
  const Image image = image_of(rows);  // steps point to it
  const Steps steps = row_order_steps(image, ordered.problem);
  if (const auto ran = emulated::run_steps(steps.all(), arguments.all(), {&rows, 1}, memory, {}); !ran)
    return "finding: " + ran.error().message;
  return ordered.defect(ids);
}

/// Of one token, which needs no sort, behind a router too.
std::string defect_of_one_token(const emulated::EmulatedKernel& route, const emulated::EmulatedKernel& rows,
                                const emulated::EmulatedKernel& product) {
  for (const emu::Options& options : schedules()) {
    const RouteProblem router{.experts = 5, .top_k = 3};
    if (std::string defect = defect_of_routed_token(route, rows, product, router, options); !defect.empty())
      return defect;
  }
  for (const reference::ExpertsCase& spec : one_token_cases(experts_product_variant_of(product.variant).config)) {
    reference::ExpertsData data = reference::make_data(spec);
    if (const auto ran = emulated::run(rows, product, data, {}); !ran) return "finding: " + ran.error().message;
    if (std::string defect = reference::defect_of(data); !defect.empty()) return "wrong " + defect;
    if (spec.problem.owned() == 0) continue;
    if (std::string defect = defect_of_mapped_token(rows, product, spec); !defect.empty()) return defect;
  }
  return {};
}

std::string first_defect() {
  using emulated::EmulatedKernel;
  const EmulatedKernel rows =
      emulated::emulated_experts_rows_kernel<kExpertsRowsVariants[0].config>(kExpertsRowsVariants[0]);
  for (const int count : {50, kSortChunk + 9})
    if (std::string defect = defect_of_order(rows, count); !defect.empty()) return defect;
  TokenRowsData gathered(DType::kF16);
  TokenRowsData::fill(gathered.tokens);
  if (const auto ran = gathered.run(rows, true, false); !ran) return "finding: " + ran.error().message;
  if (std::string defect = gathered.defect_of_gathered(); !defect.empty()) return "wrong " + defect;
  constexpr std::size_t kRoute = 6;
  static_assert(kRouteVariants[kRoute].config.dtype == DType::kF32);
  const EmulatedKernel route = emulated::emulated_route<kRouteVariants[kRoute].config>(kRouteVariants[kRoute]);
  if (std::string defect = defect_of_routed_order(route, rows, {}); !defect.empty()) return defect;
  const EmulatedKernel products[] = {
      emulated::emulated_experts_product<kExpertsProductVariants[1].config>(kExpertsProductVariants[1]),
      emulated::emulated_experts_product<kExpertsProductVariants[0].config>(kExpertsProductVariants[0])};
  if (std::string defect = defect_of_one_token(route, rows, products[0]); !defect.empty()) return defect;
  for (const EmulatedKernel& product : products) {
    const auto all = cases_for(experts_product_variant_of(product.variant).config);
    for (std::size_t i = 0; i < all.size(); ++i) {
      if (i % 3 != 0 && i + 9 < all.size()) continue;  // the last ones are for tiles' edges
      reference::ExpertsData data = reference::make_data(all[i]);
      if (const auto ran = emulated::run(rows, product, data, schedules()[i / 3 % 3]); !ran)
        return "finding: " + ran.error().message;
      if (std::string defect = reference::defect_of(data); !defect.empty()) return "wrong " + defect;
    }
  }
  return {};
}

}  // namespace
}  // namespace flashfit::testing

int main() {
  const std::string defect = flashfit::testing::first_defect();
  std::puts(defect.empty() ? "no defect" : defect.c_str());
  return defect.empty() ? 0 : 1;
}
