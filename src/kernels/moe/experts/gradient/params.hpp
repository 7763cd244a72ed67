#pragma once
// The configuration and the argument of the kernel of activations' gradients. Neutral: kernels and hosts share them.
#include "core/base/types.hpp"
#include "kernels/moe/experts/activation.hpp"

namespace flashfit {

struct ActivationGradientConfig {
  DType dtype;
  constexpr bool operator==(const ActivationGradientConfig&) const = default;
};

inline constexpr int kGradientWarps = 8;  ///< of a block, each with a row

/// For each row r with c = choices[r] >= 0, w = weights[c], or 1 without weights:
///   dweights[c] = sum over i of dh[r, i] h_i;  dz[r] = w dh[r] h'(z[r]);  h[r] = w h(z[r]).
/// dz[r] and h[r] are 0 of rows whose choice is below 0.
struct ActivationGradientParams {
  const void* z;         ///< [rows, 2 features]: gates, then ups; without gate [rows, features]
  const void* dh;        ///< [rows, features]
  const int* choices;    ///< [rows]
  const float* weights;  ///< by choice, or nullptr
  void* dz;              ///< as z; interleaved: gate and up of each feature side by side
  void* h;               ///< [rows, features]; may be dh
  float* dweights;       ///< by choice, or nullptr
  int rows, features;    ///< features: a multiple of 8
  Activation activation;
  int interleaved;            ///< 1: dz is
  float alpha, limit, shift;  ///< of kSwiglu
};

}  // namespace flashfit
