#pragma once
// The argument of the experts' product over wgmma. Neutral: kernels and hosts share it.
#include "kernels/layout/tensor_map.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

struct WgmmaExpertsParams {
  /// Of the weights, innermost first: depth; outputs of gate; gate and up; experts. Transposed: outputs of gate; depth;
  /// gate and up; experts; or, where gate and up alternate, all outputs; depth; one; experts. Boxes of 64 x 64.
  TensorMap weights;
  /// Of the rows that are multiplied, in the experts' order: depth; rows. Boxes of 64 x kExpertsStep.
  TensorMap rows;
  ExpertsProductParams product;
};

}  // namespace flashfit
