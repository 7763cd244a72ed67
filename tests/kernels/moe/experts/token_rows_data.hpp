#pragma once
// Tokens' rows under the emulator, gathered and added up alone: for tests, and for mutants of the kernel.
#include <algorithm>
#include <cmath>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "kernels/moe/experts/token_rows.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/steps.hpp"
#include "proof/reference/experts.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::testing {

/// Tokens with a gap between rows, and NaN in what is to be written and in rows that no choice has.
struct TokenRowsData {
  static constexpr int kTokens = 7, kTopK = 9, kColumns = 24;  ///< more choices than wait together
  static constexpr int kRows = kTokens * kTopK + 5;
  DType dtype;
  std::vector<int> places;
  std::vector<float> weights;
  reference::Grid tokens, rows;

  explicit TokenRowsData(DType t) : dtype(t), tokens(t, 1, kTokens, kColumns, 8), rows(t, 1, kRows, kColumns) {
    std::vector<int> order(kRows);
    std::iota(order.begin(), order.end(), 0);
    std::shuffle(order.begin(), order.end(), std::mt19937(3));
    reference::Random random(4);
    for (int i = 0; i < kTokens * kTopK; ++i) {
      places.push_back(i % 5 == 3 ? -1 - i : order[static_cast<std::size_t>(i)]);
      weights.push_back(static_cast<float>(random.normal()));
    }
  }

  static void fill(reference::Grid& grid) {
    reference::Random random(5);
    for (std::int64_t r = 0; r < grid.rows; ++r)
      for (int c = 0; c < kColumns; ++c) grid.set(0, r, c, random.normal());
  }

  Result<emu::Stats> run(const emulated::EmulatedKernel& kernel, bool gathers, bool weighs) {
    emu::Memory memory;
    memory.read_only("places", places.data(), places.size() * sizeof(int));
    memory.read_only("weights", weights.data(), weights.size() * sizeof(float));
    reference::Grid &from = gathers ? tokens : rows, &to = gathers ? rows : tokens;
    memory.read_only("from", from.data(), from.size_in_bytes());
    memory.writable("to", to.data(), to.size_in_bytes());
    const TokenRowsCall call{.problem = {.dtype = dtype, .tokens = kTokens, .top_k = kTopK, .columns = kColumns},
                             .places = places.data(),
                             .tokens = tokens.data(),
                             .tokens_row = tokens.row_stride(),
                             .rows = rows.data(),
                             .weights = weighs ? weights.data() : nullptr};
    const ExpertsRowsParams params = gathers ? gather_params(call) : sum_params(call);
    const void* const all[] = {&params};
    const Image image = image_of(kernel);
    return emulated::run_steps(token_rows_steps(image, call.problem).all(), all, {&kernel, 1}, memory,
                               schedules().front());
  }

  /// What is wrong with rows that were gathered, or "".
  std::string defect_of_gathered() const {
    std::vector<int> of(kRows, -1);
    for (int i = 0; i < kTokens * kTopK; ++i)
      if (const int place = places[static_cast<std::size_t>(i)]; place >= 0)
        of[static_cast<std::size_t>(place)] = i / kTopK;
    for (int r = 0; r < kRows; ++r)
      for (int c = 0; c < kColumns; ++c) {
        const double got = rows.get(0, r, c);
        const int token = of[static_cast<std::size_t>(r)];
        if (token < 0 ? !std::isnan(got) : got != tokens.get(0, token, c))
          return "row " + std::to_string(r) + " of token " + std::to_string(token) + " has " + std::to_string(got);
      }
    return rows.poison_intact() ? "" : "memory around the rows was written";
  }
};

}  // namespace flashfit::testing
