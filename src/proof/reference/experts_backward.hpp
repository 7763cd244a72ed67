#pragma once
// The gradients of the experts in fp64, and what may be wrong with gradients.
#include <string>
#include <vector>

#include "proof/reference/experts.hpp"

namespace flashfit::reference {

/// h's derivatives by g and by u, in fp64.
struct Slopes {
  double g, u;
};
Slopes slopes_of(const ExpertsProblem& problem, double g, double u);

/// Row-major, without gaps, as if weights were not transposed.
struct ExpertsGradientValues {
  std::vector<double> dx;        ///< [tokens, hidden]
  std::vector<double> dw13;      ///< [owned, outputs, hidden]
  std::vector<double> dw2;       ///< [owned, hidden, intermediate]
  std::vector<double> db13;      ///< [owned, outputs]
  std::vector<double> db2;       ///< [owned, hidden]
  std::vector<double> dweights;  ///< [tokens, top_k]
  double dweight_size = 0;       ///< the largest sum of absolute values that one of them is a sum of
};

/// In fp64, given the gradient of out, [1, tokens, hidden].
ExpertsGradientValues expected_gradients(const ExpertsData& data, const Grid& dout);

/// The same computation as a framework's: sums in fp32, each step rounded to the dtype.
ExpertsGradientValues naive_gradients(const ExpertsData& data, const Grid& dout);

/// What is wrong with a gradient, or "": its largest error at most twice the naive computation's, and a rounding of the
/// largest number that it has, or of `size` if that is larger.
std::string defect_of_gradient(const char* name, const std::vector<double>& got, const std::vector<double>& want,
                               const std::vector<double>& naive, DType dtype, double size = 0);

}  // namespace flashfit::reference
