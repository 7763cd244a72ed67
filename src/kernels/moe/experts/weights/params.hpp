#pragma once
// The argument of the product that gives gradients of weights. Neutral: kernels and hosts share it.
#include "core/base/divisor.hpp"
#include "kernels/layout/tensor_map.hpp"

namespace flashfit {

/// out[e, i, j] = sum over the rows r of expert e of a[r, i] b[r, j], 0 of an expert without rows.
struct WeightsProductParams {
  TensorMap a, b;           ///< columns; rows. Boxes of 64 x depth
  const int* offsets;       ///< [experts + 1]: expert e has the rows from offsets[e] to offsets[e + 1] that there are
  int* taken;               ///< tiles that blocks have taken beyond their first
  void* out;                ///< [experts, m, n], contiguous
  int rows, experts, m, n;  ///< m and n: multiples of 8
  int tiles_m;              ///< tiles along m
  Divisor tiles;            ///< of an expert
  Divisor of_stripe;        ///< of kWeightsStripe tiles along m and all along n
};

}  // namespace flashfit
