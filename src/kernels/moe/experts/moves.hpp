#pragma once
// Whether the experts' products themselves gather rows before the first product, and add up tokens' sums after the
// second, beside their tiles (docs/moe-kernels.md, "Rows copied ahead" and "Sums between the tiles"): where that is
// faster, and in which portions. Host only.
#include "core/base/types.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

/// Where rows of tokens get into the experts' order.
enum class ExpertsGather : unsigned char {
  kNone,    ///< nowhere: the first product reads them where they lie
  kLaunch,  ///< in a launch before the products
  kAhead,   ///< in the first product's, ahead of the tiles
};
/// What the products do themselves of gathering rows and adding up sums.
struct ExpertsMoves {
  ExpertsGather gather;
  /// Over wgmma: tiles of outputs that the last product computes of all rows before the next ones, while its idle
  /// warps add up those before (wgmma/token_sums.cuh); 0: it adds up nothing.
  int phase_columns;
  constexpr ExpertsMoves(ExpertsGather g = ExpertsGather::kNone, int columns = 0)  // NOLINT(*explicit*)
      : gather(g), phase_columns(columns) {}
  constexpr bool operator==(const ExpertsMoves&) const = default;
};

/// Whether `rows` rows of `columns` are better gathered and added up beside the products of so many experts: where that
/// takes long, and DRAM is not busy with weights meanwhile. By what was faster on an H100.
bool moves_beside_products(int64 rows, int columns, DType dtype, int experts);

/// Tiles of outputs in each phase, of `columns` tiles, where sums are better taken beside products of such a depth; or
/// 0, where those take so long that the sum does not count.
int phase_columns_for(int depth, int columns);
/// The least that makes at most kMostPhases phases and is at least `wanted`; 0 if there would be one phase.
int phase_columns_of(int wanted, int columns);

/// Rows that a block copies at a time.
int unit_rows(int columns, DType dtype);

/// Of `columns` tiles of outputs; all at once if phase_columns is 0.
ExpertsPhases phases_of(int columns, int phase_columns);
/// Of tokens of up to 32 choices. counters: int [2 kMostPhases], ExpertsWorkspace::summing.
ExpertsSumUnits units_of(int64 tokens, int top_k, const ExpertsPhases& phases, int* counters);
/// Tokens of a block of the launch that adds up the rest.
int sum_tokens(const ExpertsPhases& phases);

}  // namespace flashfit
