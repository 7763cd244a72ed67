#pragma once
// Whether idle warps of the experts' second product add up tokens' sums beside its tiles (docs/moe-kernels.md, "Sums
// between the tiles"): where that is faster, and in which portions. Host only.
#include "core/base/types.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

/// Whether `rows` rows of `columns` are better added up beside the products of so many experts: where that takes long,
/// and DRAM is not busy with weights meanwhile. By what was faster on an H100 and an H200.
bool adds_up_beside(int64 rows, int columns, DType dtype, int experts);

/// Tiles of outputs in each phase, of `columns` tiles, where sums are better taken beside products of such a depth; or
/// 0, where those take so long that the sum does not count.
int phase_columns_for(int depth, int columns);
/// The least that makes at most kMostPhases phases and is at least `wanted`; 0 if there would be one phase.
int phase_columns_of(int wanted, int columns);

/// Of `columns` tiles of outputs; all at once if phase_columns is 0.
ExpertsPhases phases_of(int columns, int phase_columns);
/// Of tokens of up to 32 choices. counters: int [2 kMostPhases], ExpertsWorkspace::summing.
ExpertsSumUnits units_of(int64 tokens, int top_k, const ExpertsPhases& phases, int* counters);
/// Tokens of a block of the launch that adds up the rest.
int sum_tokens(const ExpertsPhases& phases);

}  // namespace flashfit
