#pragma once
// The arguments of the experts' kernels. Neutral: kernels and hosts share them.
#include "core/base/divisor.hpp"
#include "kernels/moe/experts/activation.hpp"
#include "kernels/moe/experts/limits.hpp"

namespace flashfit {

enum class ExpertsRowsStep : unsigned char {
  kCount,   ///< a block a chunk of choices: how many are of each expert
  kPlace,   ///< a block a chunk: each choice's row, and all tiles. Of one chunk without kCount
  kTake,    ///< a block a chunk: the same of rows that come sorted
  kGather,  ///< a block a token: its row of x to the row of each of its choices
  kSum,     ///< a block a token: the weighed sum of what its experts gave
};

/// Of the kernel that sorts and adds up (rows.cuh).
struct ExpertsRowsParams {
  ExpertsRowsStep step;
  const int* ids;  ///< [rows]
  int rows;        ///< tokens * top_k
  int low, owned;  ///< ids from low to low + owned - 1 count
  const int* map;  ///< [mapped]: which expert an id is, -1: none; or nullptr
  int mapped;
  const int* offsets;              ///< [owned + 1], of kTake
  int sorted_before;               ///< as in ExpertsProductParams
  int chunks;                      ///< of kSortChunk choices
  Divisor tile_rows;               ///< of the grouped products' tiles
  int *counts, *choices, *places;  ///< as in ExpertsWorkspace
  ExpertTile* tiles;
  int* tile_count;
  int* taken;  ///< [2]: of the products' tiles: set to 0
  int* ready;  ///< [ready_count]: as in ExpertsWorkspace: set to 0
  int ready_count;
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
};

/// Of the grouped product (product.cuh): out[r, o] = f(sum over d of a[row of r, d] w[e, o, d] + bias[e, o]) for each
/// row r of expert e, f the activation of gate and up in the first product, nothing in the second.
struct ExpertsProductParams {
  const ExpertTile* tiles;
  const int* tile_count;
  /// 1: the sort had ended before the step before this one let this one begin. So its lists, and weights, may be read
  /// while that step still runs.
  int sorted_before;
  int* taken;          ///< over wgmma: tiles that blocks have taken beyond their first
  const int* choices;  ///< the first product: row r is of token choices[r] / top_k, whose row of a it is over mma.sync
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

  /// Whether gate, up, gate, ... lie side by side, as in transposed weights they may.
  constexpr bool alternates() const { return paired != 0 && w_up == 1; }
};

}  // namespace flashfit
