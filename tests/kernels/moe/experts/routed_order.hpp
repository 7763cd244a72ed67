#pragma once
// The router's kernel and then the order of rows of its choices, in three chunks: the step that counts runs between,
// and the one that places reads the choices before it waits.
#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

#include "kernels/moe/experts/row_order.hpp"
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
  std::vector<int> ids(kChoices, -7), places(kChoices, -7), choices(kChoices + kExperts, -7), offsets(kExperts + 1, -7);
  const RowOrder order{.tokens = kTokens, .top_k = kTopK, .low = 0, .experts = kExperts};
  std::vector<int> workspace(static_cast<std::size_t>(row_order_workspace(order)) / sizeof(int));
  emu::Memory memory;
  const auto writable = [&](const char* name, auto& v) { memory.writable(name, v.data(), v.size() * sizeof v[0]); };
  memory.read_only("logits", logits.data(), logits.size() * sizeof(float));
  writable("weights", weights);
  writable("ids", ids);
  writable("places", places);
  writable("choices", choices);
  writable("offsets", offsets);
  writable("workspace", workspace);

  // Of a GPU whose steps may begin early.
  const auto image_of = [](const emulated::EmulatedKernel& kernel) {
    return Image{
        .variant = &kernel.variant, .target = {.cc = 90}, .registers = 0, .local_bytes = 0, .bytes = 0, .entry = {}};
  };
  const Image route_image = image_of(route), rows_image = image_of(rows);
  const RouteCall call{
      .problem = {.dtype = DType::kF32, .tokens = kTokens, .experts = kExperts, .top_k = kTopK},
      .logits = logits.data(),
      .logits_row = kExperts,
      .weights = weights.data(),
      .ids = ids.data(),
  };
  const RouteParams route_argument = route_params(call);
  const RowOrderArguments arguments({.problem = order,
                                     .ids = ids.data(),
                                     .places = places.data(),
                                     .choices = choices.data(),
                                     .offsets = offsets.data(),
                                     .workspace = workspace.data()});
  Steps steps = route_steps(route_image, call.problem);
  steps.add(row_order_steps(rows_image, order));
  if (steps.size() != 3 || !steps[1].dependent || !steps[2].dependent) return "wrong steps";
  std::vector<const void*> all{&route_argument};
  all.insert(all.end(), arguments.all().begin(), arguments.all().end());
  const emulated::EmulatedKernel kernels[] = {route, rows};
  if (const auto ran = emulated::run_steps(steps.all(), all, kernels, memory, options); !ran)
    return "finding: " + ran.error().message;

  std::vector<int> sorted(kChoices), want_places(kChoices);
  std::iota(sorted.begin(), sorted.end(), 0);
  std::ranges::stable_sort(sorted, {}, [&](int i) { return ids[static_cast<std::size_t>(i)]; });
  for (std::size_t row = 0; row < kChoices; ++row) {
    const auto choice = static_cast<std::size_t>(sorted[row]);
    if (ids[choice] < 0 || ids[choice] >= kExperts) return "wrong choices of the router";
    want_places[choice] = static_cast<int>(row) + ids[choice] + 1;  // each expert has a row of no choice before its own
  }
  return places == want_places ? "" : "wrong places of the router's choices";
}

}  // namespace flashfit::testing
