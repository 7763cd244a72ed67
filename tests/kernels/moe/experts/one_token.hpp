#pragma once
// A layer of one token, whose choices nobody sorts, behind a router and with a map: for its tests and its mutants.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/moe/experts/ordered_rows.hpp"
#include "kernels/moe/route/plan.hpp"
#include "proof/emulated/experts.hpp"

namespace flashfit::testing {

/// What is wrong with the router's kernel and then the layer of its one token, or "". No step between waits for the
/// router, so the first product does before it reads ids, and the steps after it read them before they wait. `route` is
/// of fp32; `router` has the number of experts and of choices.
inline std::string defect_of_routed_token(const emulated::EmulatedKernel& route, const emulated::EmulatedKernel& rows,
                                          const emulated::EmulatedKernel& product, RouteProblem router,
                                          const emu::Options& options) {
  router.dtype = DType::kF32;
  router.tokens = 1;
  reference::ExpertsData data =
      reference::make_data({.name = "a routed token",
                            .problem = {.dtype = experts_product_variant_of(product.variant).config.dtype,
                                        .tokens = 1,
                                        .experts = router.experts,
                                        .top_k = router.top_k,
                                        .hidden = 72,
                                        .intermediate = 40,
                                        .low = 1,
                                        .high = router.experts}});
  std::ranges::fill(data.ids, -7);
  std::ranges::fill(data.weights, -7.F);
  std::vector<float> logits;
  for (int e = 0; e < router.experts; ++e) logits.push_back(static_cast<float>(e * 7 % 31 - e % 13));
  const RouteParams argument = route_params({.problem = router,
                                             .logits = logits.data(),
                                             .logits_row = router.experts,
                                             .weights = data.weights.data(),
                                             .ids = data.ids.data()});
  const void* const arguments[] = {&argument};
  const Image image = image_of(route);  // steps point to it
  const auto ran =
      emulated::run(rows, product, data, options, {}, {}, {},
                    emulated::StepsBefore{.steps = route_steps(image, router),
                                          .arguments = arguments,
                                          .kernel = &route,
                                          .add_memory = [&](emu::Memory& memory) {
                                            memory.read_only("logits", logits.data(), logits.size() * sizeof(float));
                                          }});
  if (!ran) return "finding: " + ran.error().message;
  if (std::ranges::any_of(data.ids, [&](int id) { return id < 0 || id >= router.experts; }))
    return "wrong choices of the router";
  const std::string defect = reference::defect_of(data);
  return defect.empty() ? "" : "wrong " + defect;
}

/// What is wrong with a token whose ids go through a map first, which has -1 for some, and not all of them, or "":
/// beside the same token with the ids that the map gives.
inline std::string defect_of_mapped_token(const emulated::EmulatedKernel& rows, const emulated::EmulatedKernel& product,
                                          reference::ExpertsCase spec) {
  spec.problem.high -= spec.problem.low;  // a map's experts count from 0
  spec.problem.low = 0;
  reference::ExpertsData plain = reference::make_data(spec), mapped = plain;
  std::vector<int> map;
  for (int id = 0; id < spec.problem.experts + 5; ++id) map.push_back(id % 6 == 4 ? -1 : id * 7 % spec.problem.owned());
  const auto size = static_cast<int>(map.size());
  const int foreign[] = {-1, size, 1 << 30};
  for (int i = 0; i < spec.problem.top_k; ++i) {
    const auto at = static_cast<std::size_t>(i);
    mapped.ids[at] = i % 5 == 3 ? foreign[i / 5 % 3] : (i * 5 + 1) % size;
    plain.ids[at] = i % 5 == 3 ? -1 : map[static_cast<std::size_t>(mapped.ids[at])];
  }
  for (auto* const data : {&plain, &mapped}) {
    const auto ran = emulated::run(rows, product, *data, {}, {}, [&](ExpertsCall& call) {
      if (data == &plain) return;
      call.map = map.data();
      call.mapped = size;
    });
    if (!ran) return "finding: " + ran.error().message;
  }
  if (mapped.out.bytes != plain.out.bytes) return "wrong results with a map: " + spec.name;
  const std::string defect = reference::defect_of(plain);
  return defect.empty() ? "" : "wrong " + defect;
}

}  // namespace flashfit::testing
