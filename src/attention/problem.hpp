#pragma once
// What is asked: the shape of one attention forward (the plan's input) and the call
// with its pointers (a backend's input). Host only.
#include <cstdint>

#include "base/types.hpp"

namespace flashfit {

/// Shapes are [batch, seqlen, heads, head_dim]; variable length: [total, heads, head_dim] with batch sequences.
struct ForwardProblem {
  DType dtype = DType::kF16;
  int head_dim = 0;
  std::int64_t batch = 0, heads_q = 0, heads_kv = 0;
  std::int64_t seqlen_q = 0,
               seqlen_k = 0;  ///< dense: per sequence; variable length: the mean, rounded up (for the model only)
  std::int64_t total_q = 0, total_k = 0;  ///< rows over all sequences
  bool causal = false, variable_length = false;
  bool operator==(const ForwardProblem&) const = default;
};

/// A checked tensor [batch, row, head, head_dim] whose last stride is 1.
/// Strides in elements. Variable length: batch_stride is 0.
struct TensorView {
  void* data = nullptr;
  std::int64_t batch_stride = 0, row_stride = 0, head_stride = 0;
};

/// A checked call. Nothing here needs to be validated again:
/// sizes agree, pointers are non-null where the tensor has elements.
struct ForwardCall {
  ForwardProblem problem;
  TensorView q, k, v, o;
  float* lse = nullptr;  ///< natural log; dense [batch, heads, seqlen_q], variable length [heads, total_q]; contiguous;
                         ///< or nullptr
  const std::int32_t* cu_seqlens_q = nullptr;  ///< batch + 1 offsets (device memory on a GPU), or nullptr
  const std::int32_t* cu_seqlens_k = nullptr;
  float softmax_scale = 0;
};

}  // namespace flashfit
