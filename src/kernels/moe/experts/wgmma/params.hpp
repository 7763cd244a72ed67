#pragma once
// The argument of the experts' product over wgmma. Neutral: kernels and hosts share it.
#include "kernels/layout/tensor_map.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

/// Of the tokens' sums that idle warps of the second product compute (wgmma/token_sums.cuh), from rows of its `out`.
struct ExpertsTokenSumsParams {
  ExpertsSumUnits units;
  const int* places;     ///< [tokens, top_k]: the row of each choice; -1: none
  const float* weights;  ///< [tokens, top_k], or nullptr where rows were weighed before
  void* out;             ///< [tokens, outputs]
  long long out_row;
  int top_k;
};

struct WgmmaExpertsParams {
  /// Of the weights, innermost first: depth; outputs of gate; gate and up; experts. Transposed: outputs of gate; depth;
  /// gate and up; experts; or, where gate and up alternate, all outputs; depth; one; experts. Boxes of 64 x 64.
  /// For three warpgroups, not transposed: depth; 8 outputs; gate and up; eights of outputs; experts; or, of what is
  /// not paired, depth; outputs; one; one; experts. Boxes of 64 depths of 64 outputs, or of 32 of gate and up.
  TensorMap weights;
  /// Of rows that lie in the experts' order, unset if others are gathered: depth; rows. Boxes of 64 x kExpertsStep.
  TensorMap rows;
  ExpertsProductParams product;
  int gathers;  ///< 1: each row is that of its choice's token (wgmma/row_gatherer.cuh)
  ExpertsPhases phases;
  ExpertsTokenSumsParams sums;  ///< of more than one phase
};

}  // namespace flashfit
