#pragma once
// What is asked: the shape of one attention forward (the plan's input) and the call
// with its pointers (a backend's input). Host only.
#include <cstdint>

#include "kernels/attention/forward_params.hpp"

namespace flashfit {

/// Shapes are [batch, seqlen, heads, head_dim]; variable length: [total, heads, head_dim] with batch sequences. q and k
/// have head_dim, v and out head_dim_v.
struct ForwardProblem {
  DType dtype = DType::kF16;
  int head_dim = 0, head_dim_v = 0;
  std::int64_t batch = 0, heads_q = 0, heads_kv = 0;
  std::int64_t seqlen_q = 0,
               seqlen_k = 0;  ///< dense: per sequence; variable length: the mean, rounded up (for the model only)
  std::int64_t total_q = 0, total_k = 0;  ///< rows over all sequences
  bool causal = false, variable_length = false;
  /// Query i sees keys i + d - window_left .. i + d + window_right, d = seqlen_k - seqlen_q; -1: without a limit. With
  /// causal, window_right counts as 0.
  std::int64_t window_left = -1, window_right = -1;
  bool softcap = false, alibi = false, sinks = false;
  bool used_keys = false;  ///< seqused_k says how many of each sequence's keys are in use
  BiasKind bias = BiasKind::kNone;
  bool unaligned = false;        ///< a row of q, k, v or out begins where 16 bytes cannot be copied at once
  bool bias_by_element = false;  ///< two keys of a bias that lie side by side cannot be loaded at once
  bool no_tensor_maps = false;   ///< a stride of q, k or v is none that TMA takes: 0, negative, 2^40 bytes
  bool batch_invariant = false;  ///< a sequence's result may not depend on the batch around it, to the last bit
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
  const std::int32_t* seqused_k = nullptr;  ///< [batch]: a sequence's keys are its first seqused_k[b]; or nullptr
  float softmax_scale = 0;
  float softcap = 0;  ///< score = softcap * tanh(score / softcap); 0: none. Then come ALiBi and bias
  /// ALiBi: score -= slope * |i + seqlen_k - seqlen_q - j|. Slopes [batch, heads_q]; or nullptr.
  const float* alibi_slopes = nullptr;
  std::int64_t alibi_batch_stride = 0;  ///< heads are dense
  const float* sinks = nullptr;         ///< [heads_q]: a logit that adds exp(sink) to the softmax's sum; or nullptr
  const void* bias = nullptr;           ///< as problem.bias says; strides in elements, 0 where it is broadcast
  std::int64_t bias_batch_stride = 0, bias_head_stride = 0, bias_row_stride = 0, bias_key_stride = 0;
};

/// Bytes of a score's bias; dtype: q's.
constexpr int bias_bytes(BiasKind kind, DType dtype) {
  switch (kind) {
    case BiasKind::kNone:
      return 0;
    case BiasKind::kVisible:
      return 1;
    case BiasKind::kLikeQ:
      return size_of(dtype);
    case BiasKind::kF32:
      return size_of(DType::kF32);
  }
  return 0;
}

/// ForwardProblem::bias_by_element: keys are not dense, or a row begins where no two elements can be loaded at once.
inline bool bias_by_element(const ForwardCall& c) {
  if (c.problem.bias == BiasKind::kNone) return false;
  const std::int64_t strides = c.bias_batch_stride | c.bias_head_stride | c.bias_row_stride;
  return c.bias_key_stride != 1 || strides % 2 != 0 ||
         reinterpret_cast<std::uintptr_t>(c.bias) % (2 * bias_bytes(c.problem.bias, c.problem.dtype)) != 0;
}

}  // namespace flashfit
