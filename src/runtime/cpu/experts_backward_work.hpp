#pragma once
// The gradients of a layer of experts as the tasks that the CPU's kernels compute.
#include "runtime/cpu/experts_work.hpp"

namespace flashfit::cpu {

/// Where gradients are written, each or nullptr; of the call's dtype, strides in elements, as what they are of. Of an
/// expert without tokens they are 0.
struct ExpertsGradients {
  void* dx = nullptr;
  std::int64_t dx_row = 0;
  void* dw13 = nullptr;
  std::int64_t dw13_expert = 0, dw13_row = 0;
  void* dw2 = nullptr;
  std::int64_t dw2_expert = 0, dw2_row = 0;
  void* db13 = nullptr;
  std::int64_t db13_expert = 0;
  void* db2 = nullptr;
  std::int64_t db2_expert = 0;
  float* dweights = nullptr;  ///< [tokens, top_k], contiguous; 0 of choices that are not owned
};

/// All rows are sorted by expert: with dh = weight dout w2 and dz = dh activation'(z), rows of dx are dz w13.
struct ExpertsBackwardWork {
  const ExpertsWork& forward;     ///< its token, x, segments
  Matrix dout;                    ///< [tokens, hidden]
  const float* weight = nullptr;  ///< of each row: what multiplies dout, or x
  bool on_input = false;          ///< x
  float* x = nullptr;             ///< [rows, padded hidden]: what w13 multiplies
  float* dy = nullptr;            ///< [rows, padded hidden]: dout
  float* h = nullptr;             ///< [rows, padded intermediate]: times the weight, if that is y's
  float* dz = nullptr;            ///< [rows, padded outputs], in the order of w13's outputs
  float* dx = nullptr;            ///< [rows, padded hidden]: gradient of what w13 multiplies
  float* dweight = nullptr;       ///< [rows, feature tasks]: parts of each weight's gradient
  std::int64_t hidden = 0, intermediate = 0, outputs = 0;  ///< padded
};

/// A gradient of weights: element [a, b] = sum over rows of left[row, a] * right[row, b].
struct OuterProduct {
  const float *left, *right;
  std::int64_t left_stride, right_stride;
  std::int64_t rows, left_columns, right_columns;
  DType dtype;
  void* to;  ///< [left columns, right columns]
  std::int64_t to_row;
};

inline constexpr std::int64_t kOuterRows = 8;  ///< of a gradient of weights that a task computes

struct ExpertsBackwardKernels {
  std::size_t (*scratch_bytes)(const ExpertsProblem& problem);
  void (*gather)(const ExpertsBackwardWork& work, std::int64_t row);
  void (*features)(const ExpertsBackwardWork& work, std::int64_t task, float* scratch);  ///< h, dz, dweight
  void (*inputs)(const ExpertsBackwardWork& work, std::int64_t task, float* scratch);    ///< dx
  void (*outer)(const OuterProduct& product, std::int64_t first, float* scratch);        ///< kOuterRows from `first`
};

}  // namespace flashfit::cpu
