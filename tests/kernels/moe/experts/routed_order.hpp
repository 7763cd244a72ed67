#pragma once
// The router's kernel and then the order of rows of its choices, in three chunks: the step that counts runs between,
// and the one that places reads the choices before it waits.
#include <algorithm>
#include <string>
#include <vector>

#include "kernels/moe/experts/ordered_rows.hpp"
#include "kernels/moe/route/plan.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emulated/steps.hpp"

namespace flashfit::testing {

/// What is wrong with it, or "". `route` is of fp32.
inline std::string defect_of_routed_order(const emulated::EmulatedKernel& route, const emulated::EmulatedKernel& rows,
                                          const emu::Options& options) {
  constexpr int kExperts = 5, kTopK = 2, kTokens = kSortChunk + 20;
  constexpr std::size_t kChoices = std::size_t{kTokens} * kTopK;
  std::vector<float> logits, weights(kChoices);
  for (int i = 0; i < kTokens * kExperts; ++i) logits.push_back(static_cast<float>(i * 7 % 31 - i % 13));
  std::vector<int> ids(kChoices, OrderedRows::kUnwritten);
  OrderedRows ordered({.tokens = kTokens, .top_k = kTopK, .low = 0, .experts = kExperts});
  emu::Memory memory;
  memory.read_only("logits", logits.data(), logits.size() * sizeof(float));
  memory.writable("weights", weights.data(), weights.size() * sizeof(float));
  memory.writable("ids", ids.data(), ids.size() * sizeof(int));
  ordered.add_to(memory);

  const Image route_image = image_of(route), rows_image = image_of(rows);
  const RouteCall call{
      .problem = {.dtype = DType::kF32, .tokens = kTokens, .experts = kExperts, .top_k = kTopK},
      .logits = logits.data(),
      .logits_row = kExperts,
      .weights = weights.data(),
      .ids = ids.data(),
  };
  const RouteParams route_argument = route_params(call);
  const RowOrderArguments arguments = ordered.arguments(ids.data());
  Steps steps = route_steps(route_image, call.problem);
  steps.add(row_order_steps(rows_image, ordered.problem));
  if (steps.size() != 3 || !std::ranges::all_of(steps.all(), &Step::dependent)) return "wrong steps";
  std::vector<const void*> all{&route_argument};
  all.insert(all.end(), arguments.all().begin(), arguments.all().end());
  const emulated::EmulatedKernel kernels[] = {route, rows};
  if (const auto ran = emulated::run_steps(steps.all(), all, kernels, memory, options); !ran)
    return "finding: " + ran.error().message;

  if (std::ranges::any_of(ids, [](int id) { return id < 0 || id >= kExperts; })) return "wrong choices of the router";
  return ordered.defect(ids);
}

}  // namespace flashfit::testing
