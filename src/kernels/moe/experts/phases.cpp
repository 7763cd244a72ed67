#include "kernels/moe/experts/phases.hpp"

#include <algorithm>

#include "kernels/moe/experts/config.hpp"

namespace flashfit {

bool adds_up_beside(int64 rows, int columns, DType dtype, int experts) {
  constexpr int64 kFewestBytes = 384 << 20, kFewestRowsOfAnExpert = 512;
  return rows * columns * size_of(dtype) >= kFewestBytes && rows >= kFewestRowsOfAnExpert * experts;
}

int phase_columns_for(int depth, int columns) {
  constexpr int kDeepest = 2048, kPhases = 4;
  return depth <= kDeepest ? (columns + kPhases - 1) / kPhases : 0;
}

int phase_columns_of(int wanted, int columns) {
  if (wanted > 0) wanted = std::max(wanted, (columns + kMostPhases - 1) / kMostPhases);
  return wanted >= columns ? 0 : wanted;
}

ExpertsPhases phases_of(int columns, int phase_columns) {
  columns = std::max(columns, 1);
  if (phase_columns == 0) return in_one_phase(Divisor(columns));
  const int count = (columns + phase_columns - 1) / phase_columns;
  return {.count = count, .columns = Divisor(phase_columns), .last = Divisor(columns - (count - 1) * phase_columns)};
}

/// A warp has 32 lanes, each of which knows a choice.
ExpertsSumUnits units_of(int64 tokens, int top_k, const ExpertsPhases& phases, int* counters) {
  if (phases.count == 1) return {};
  const int each = 32 / top_k, columns = (phases.columns.by * kPhaseColumns + kSumColumns - 1) / kSumColumns;
  return {.tokens = static_cast<int>(tokens),
          .each = Divisor(each),
          .columns = Divisor(columns),
          .count = static_cast<int>((tokens + each - 1) / each * columns),
          .taken = counters,
          .stored = counters + kMostPhases};
}

/// Its warps have a tile's outputs each, of the last phase.
int sum_tokens(const ExpertsPhases& phases) { return phases.count == 1 ? 1 : std::max(kRowsWarps / phases.last.by, 1); }

}  // namespace flashfit
