#pragma once
// The arguments of the experts' kernels. Neutral: kernels and hosts share them.
#include "core/base/divisor.hpp"
#include "kernels/moe/experts/activation.hpp"
#include "kernels/moe/experts/limits.hpp"

namespace flashfit {

enum class ExpertsRowsStep : unsigned char {
  kCount,    ///< a block a chunk of choices: how many are of each expert
  kPlace,    ///< a block a chunk: each choice's row, and all tiles. Of one chunk without kCount
  kTake,     ///< a block a chunk: the same of rows that come sorted
  kGather,   ///< a block a token: its row of x to the row of each of its choices
  kSum,      ///< a block a token: the weighed sum of what its experts gave
  kSumOne,   ///< of one token's choices that are not sorted, choice i in row i: a block kSumOneColumns outputs
  kSumRest,  ///< a block sum_tokens tokens: the units of the sum that the second product has not taken
  kSort,     ///< a block a chunk: as kPlace, but no tiles, and each expert's rows follow one that is of no token
};

/// How the second product over wgmma goes through its outputs: all rows by those of a phase, then of the next. While a
/// phase is computed, idle warps add up what earlier ones gave (wgmma/token_sums.cuh).
struct ExpertsPhases {
  int count;        ///< 1: all at once
  Divisor columns;  ///< tiles of kPhaseColumns outputs in each but the last
  Divisor last;     ///< in that
  constexpr const Divisor& columns_of(int phase) const { return phase + 1 < count ? columns : last; }
  constexpr int first_output(int phase) const { return phase * columns.by * kPhaseColumns; }
};

constexpr ExpertsPhases in_one_phase(const Divisor& columns) {
  return {.count = 1, .columns = columns, .last = columns};
}

/// The units in which idle warps add up: kSumColumns outputs of a phase but the last, of some tokens. Units are counted
/// for each phase from 0, the outputs of a unit's tokens side by side.
struct ExpertsSumUnits {
  int tokens;       ///< of the call
  Divisor each;     ///< tokens of a unit: at most 32 choices
  Divisor columns;  ///< units of the same tokens
  int count;        ///< of a phase
  int* taken;       ///< of each phase but the last: those that blocks have taken, and more if they wanted more
  int* stored;      ///< of each phase: tiles whose rows are in y
  /// Which has this token's output, the n-th of a phase.
  constexpr int unit_of(int token, int n) const { return each.quotient(token) * columns.by + n / kSumColumns; }
};

/// Which experts a call has weights of, and what ids say of them (expert_of() of ids.cuh).
struct ExpertsHere {
  int low, owned;  ///< ids from low to low + owned - 1 count
  const int* map;  ///< [mapped]: which expert an id is, -1: none; or nullptr
  int mapped;
};

/// Of the kernel that sorts and adds up (rows.cuh).
struct ExpertsRowsParams {
  ExpertsRowsStep step;
  const int* ids;  ///< [rows]
  int rows;        ///< tokens * top_k
  ExpertsHere here;
  const int* offsets;              ///< [here.owned + 1], of kTake
  int sorted_before;               ///< as in ExpertsProductParams
  int chunks;                      ///< of kSortChunk choices
  Divisor tile_rows;               ///< of the grouped products' tiles
  int *counts, *choices, *places;  ///< as in ExpertsWorkspace
  ExpertTile* tiles;
  int* tile_count;
  int* taken;    ///< [2]: of the products' tiles: set to 0
  int* summing;  ///< [summing_count]: as in ExpertsWorkspace: set to 0
  int summing_count;
  // Of kSort, whose `choices` are [rows + here.owned], -1 in rows of no token and of no expert, which come last.
  int* begins;  ///< [here.owned + 1]: where each expert's rows begin with the one of no token
  // Of kGather.
  const void* x;  ///< [tokens, columns]
  long long x_row;
  void* gathered;  ///< [rows, columns]
  // Of kSum.
  const float* weights;  ///< [rows], or nullptr where rows were weighed before
  const void* y;         ///< [rows, columns]
  void* out;             ///< [tokens, columns]
  long long out_row;
  int top_k, columns;
  // Of kSumRest.
  ExpertsPhases phases;
  ExpertsSumUnits units;
  Divisor sum_tokens;  ///< tokens of a block
  int sums_of_block;   ///< of kPhaseColumns outputs of a token each
};

/// Of the grouped product (product.cuh): out[r, o] = f(sum over d of a[row of r, d] w[e, o, d] + bias[e, o]) for each
/// row r of expert e, f the activation of gate and up in the first product, nothing in the second.
struct ExpertsProductParams {
  const ExpertTile* tiles;  ///< nullptr: one token's choices, not sorted: tile i is choice i, if its expert is here
  const int* tile_count;
  // Of one token's choices that are not sorted, as in ExpertsRowsParams.
  const int* ids;
  ExpertsHere here;
  /// 1: the sort, or without it whatever writes ids, had ended before the step before this one let this one begin. So
  /// the sort's lists, or ids, and weights may be read while that step still runs.
  int sorted_before;
  int* taken;  ///< over wgmma: tiles that blocks have taken beyond their first
  /// The first product: row r is of token choices[r] / top_k, whose row of a it is; nullptr without sort.
  const int* choices;
  Divisor top_k;
  Divisor columns;  ///< tiles along the outputs
  const void* a;
  long long a_row;
  const void* w;
  long long w_expert,
      w_row;         ///< w_row: from one output's weights to the next's; transposed: from one d's to the next's
  long long w_up;    ///< from a feature's gate to its up
  const void* bias;  ///< or nullptr
  long long bias_expert;
  int bias_step, bias_up;  ///< from one output's to the next's; from gate's to up's
  const float* weights;    ///< [rows in the order of choices]: what products are multiplied by, or nullptr
  void* out;               ///< [rows, outputs]
  /// The first product, of forms that keep: what comes before the activation, gates of all features, then ups, as
  /// ExpertsCall::z has them; or nullptr.
  void* z;
  int depth, outputs;  ///< multiples of 8; `outputs` counts features: gate and up are one
  int transposed;      ///< 1: w is [expert, depth, outputs]
  int paired;          ///< 1: each output has a gate and an up
  int activates;       ///< 1: the first product
  Activation activation;
  float alpha, limit, shift;  ///< of kSwiglu

  /// Of kSwiglu: silu(gate) up, nothing more.
  constexpr bool is_plain_swiglu() const { return alpha == 1.f && shift == 0.f && limit > 0x1.fffffep127f; }
  /// Whether gate, up, gate, ... lie side by side, as in transposed weights they may.
  constexpr bool alternates() const { return paired != 0 && w_up == 1; }
};

}  // namespace flashfit
