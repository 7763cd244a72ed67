#include "kernels/moe/experts/cases.hpp"

#include <algorithm>

#include "kernels/moe/experts/plan.hpp"

namespace flashfit::testing {

GateUp gate_up_for(const ExpertsProductConfig& c) {
  const bool alternates = c.engine == ExpertsEngine::kWgmma && c.transposed && experts_runs(c) == 1;
  return alternates ? GateUp::kInterleaved : GateUp::kConcatenated;
}

std::vector<reference::ExpertsCase> cases_for(const ExpertsProductConfig& c) {
  std::vector<reference::ExpertsCase> cases = reference::experts_cases(c.dtype);
  const int more_rows = c.tile_rows + 9, more_outputs = c.tile_columns + 24, more_slices = (c.stages + 1) * c.depth + 8;
  const bool wgmma = c.engine == ExpertsEngine::kWgmma;  // its forms take weights of one layout each
  const auto add = [&](const char* name, ExpertsProblem p) {
    p.dtype = c.dtype;
    if (wgmma) p.transposed = c.transposed, p.gate_up = std::max(p.gate_up, gate_up_for(c));
    cases.push_back({.name = name, .problem = p, .choices = reference::Choices::kSkewed});
  };
  if (wgmma)
    add("rows of several steps, weighed", {.tokens = 70,
                                           .experts = 2,
                                           .top_k = 1,
                                           .hidden = 24,
                                           .intermediate = 40,
                                           .low = 0,
                                           .high = 2,
                                           .bias13 = true,
                                           .weight_on = WeightOn::kInput});
  add("more than a tile of rows",
      {.tokens = more_rows, .experts = 2, .top_k = 1, .hidden = 40, .intermediate = 16, .low = 0, .high = 2});
  add("more than a tile of outputs", {.tokens = 5,
                                      .experts = 3,
                                      .top_k = 2,
                                      .hidden = more_outputs,
                                      .intermediate = more_outputs,
                                      .low = 0,
                                      .high = 3,
                                      .bias13 = true,
                                      .bias2 = true});
  add("more slices than slots",
      {.tokens = 9, .experts = 2, .top_k = 2, .hidden = more_slices, .intermediate = more_slices, .low = 0, .high = 2});
  if (wgmma)  // and phases of y whose units are of two widths
    add("rows of many slices", {.tokens = 100,
                                .experts = 2,
                                .top_k = 2,
                                .hidden = 4 * kPhaseColumns + 8,
                                .intermediate = 8,
                                .low = 0,
                                .high = 2});
  if (!wgmma)
    add("more slices than slots, transposed", {.tokens = 9,
                                               .experts = 2,
                                               .top_k = 2,
                                               .hidden = more_slices,
                                               .intermediate = more_slices,
                                               .low = 0,
                                               .high = 2,
                                               .transposed = true});
  if (c.transposed)
    add("more than a tile of gates and ups side by side", {.tokens = more_rows,
                                                           .experts = 2,
                                                           .top_k = 1,
                                                           .hidden = 40,
                                                           .intermediate = more_outputs,
                                                           .low = 0,
                                                           .high = 2,
                                                           .gate_up = GateUp::kInterleaved,
                                                           .bias13 = true});
  add("more than a chunk of choices", {.tokens = kSortChunk / 16 + 30,
                                       .experts = 20,
                                       .top_k = 16,
                                       .hidden = 16,
                                       .intermediate = 8,
                                       .low = 2,
                                       .high = 18});
  add("experts of many warps",
      {.tokens = 40, .experts = 200, .top_k = 4, .hidden = 16, .intermediate = 8, .low = 0, .high = 200});
  cases.back().choices = reference::Choices::kRandom;
  add("weights on the input, without biases", {.tokens = 20,
                                               .experts = 3,
                                               .top_k = 2,
                                               .hidden = 40,
                                               .intermediate = 16,
                                               .low = 0,
                                               .high = 3,
                                               .weight_on = WeightOn::kInput});
  if (c.tile_rows == kFewestTileRows) {  // nothing of these is the products'
    add("more columns than threads copy, more choices than are added at once",
        {.tokens = 2, .experts = 10, .top_k = 9, .hidden = 2064, .intermediate = 8, .low = 0, .high = 10});
    add("all experts elsewhere",
        {.tokens = 3, .experts = 4, .top_k = 2, .hidden = 16, .intermediate = 8, .low = 2, .high = 2});
  }
  if (wgmma)
    for (reference::ExpertsCase& spec : cases) spec.problem.keeps = c.keeps;
  std::erase_if(cases, [&](const reference::ExpertsCase& spec) { return !serves(c, spec.problem); });
  return cases;
}

std::vector<reference::ExpertsCase> one_token_cases(const ExpertsProductConfig& c) {
  using enum reference::Choices;
  const int more_outputs = c.tile_columns + 24, more_slices = (c.stages + 1) * c.depth + 8;
  std::vector<reference::ExpertsCase> cases;
  const auto add = [&](const char* name, reference::Choices choices, ExpertsProblem p) {
    p.dtype = c.dtype;
    p.tokens = 1;
    cases.push_back(
        {.name = name,
         .problem = p,
         .inputs = choices == kForeign ? reference::ExpertInputs::kNanOfNoChoice : reference::ExpertInputs::kNormal,
         .choices = choices,
         .gap = 8});
  };
  add("one token", kRandom,
      {.experts = 5, .top_k = 3, .hidden = more_slices, .intermediate = more_outputs, .low = 0, .high = 5});
  add("one token, ids of no expert here", kForeign,
      {.experts = 12,
       .top_k = 16,
       .hidden = more_outputs,
       .intermediate = 40,
       .low = 3,
       .high = 9,
       .gate_up = GateUp::kInterleaved,
       .transposed = true,
       .bias13 = true,
       .bias2 = true,
       .weight_on = WeightOn::kInput});
  add("one token, an expert twice", kSame,
      {.experts = 3,
       .top_k = 2,
       .hidden = 40,
       .intermediate = more_slices,
       .low = 0,
       .high = 3,
       .transposed = true,
       .weight_on = WeightOn::kInput});
  add("one token, ids that repeat", kRepeated,
      {.experts = 4,
       .top_k = 16,
       .hidden = 72,
       .intermediate = 24,
       .low = 0,
       .high = 4,
       .activation = Activation::kGegluErf,
       .gate_up = GateUp::kInterleaved,
       .bias13 = true});
  add("one token, one choice without a gate", kRandom,
      {.experts = 4,
       .top_k = 1,
       .hidden = 40,
       .intermediate = more_outputs,
       .low = 0,
       .high = 4,
       .activation = Activation::kRelu2,
       .bias2 = true});
  add("one token, fewer experts here than choices", kRandom,
      {.experts = 20, .top_k = 16, .hidden = 24, .intermediate = 16, .low = 4, .high = 7});
  add("one token, the most experts", kRandom,
      {.experts = kMostExperts, .top_k = 16, .hidden = 16, .intermediate = 8, .low = 0, .high = kMostExperts});
  add("one token, outputs of two blocks of the sum", kRandom,
      {.experts = 10, .top_k = 9, .hidden = kSumOneColumns + 24, .intermediate = 8, .low = 2, .high = 10});
  add("one token, all experts elsewhere", kRandom,
      {.experts = 4, .top_k = 2, .hidden = 16, .intermediate = 8, .low = 2, .high = 2});
  return cases;
}

}  // namespace flashfit::testing
