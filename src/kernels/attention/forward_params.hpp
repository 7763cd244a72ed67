#pragma once
// The argument of every kernel of the forward, whatever its family. Neutral: kernels and hosts share it.
#include "core/base/divisor.hpp"
#include "core/base/types.hpp"

namespace flashfit {

inline constexpr float kLog2E = 1.44269504088896341f;

/// What a bias [batch, heads_q, seqlen_q, seqlen_k] holds.
enum class BiasKind : unsigned char {
  kNone,
  kVisible,  ///< bool: a key is seen where it is true
  kLikeQ,    ///< q's dtype, added to the score
  kF32,      ///< fp32, added to the score
};

/// The kernel's one argument. Pointers and strides are of elements, strides 64-bit; rows are tokens.
/// Sequence b: dense, rows of its own at b * batch stride; variable length, rows cu_seqlens[b] ..
/// cu_seqlens[b + 1] of one long row axis.
struct ForwardParams {
  const void *q, *k, *v;
  void* o;
  float* lse;                              ///< natural log, or nullptr
  const int *cu_seqlens_q, *cu_seqlens_k;  ///< batch + 1 offsets, or nullptr when dense; need not be trusted: clamped
  const int* seqused_k;                    ///< batch counts of keys, or nullptr; clamped to what there is
  long long q_batch, q_row, q_head, k_batch, k_row, k_head, v_batch, v_row, v_head, o_batch, o_row, o_head;
  long long lse_batch, lse_head;  ///< elements; rows are dense
  int head_dim, head_dim_v;       ///< at most the configuration's; columns beyond are not touched
  int batch;
  Divisor heads, group;           ///< group = query heads per KV head
  int seqlen_q, seqlen_k;         ///< dense: rows of a sequence; variable length: all rows (total_q, total_k)
  int slots;                      ///< tiles of a head: the grid is (slots * heads, splits)
  Divisor tiles;                  ///< dense: tiles of a head and sequence
  int causal;                     ///< 1: bottom-right aligned
  int window_left, window_right;  ///< keys seen beside the diagonal; -1: no limit. causal: right is 0
  float softmax_scale;            ///< > 0
  const float* sinks;             ///< heads logits, or nullptr
  /// Split-KV: a sequence's keys are cut in `splits` parts of split_tiles tiles, the last one of what is left. Each is
  /// a thread block's, which writes partial results if there are more than one; a second launch makes the output of
  /// them (combine/combine.cuh).
  int splits, split_tiles;
  float* partial_o;    ///< [splits, rows of all sequences, heads, head_dim_v]
  float* partial_lse;  ///< [splits, rows of all sequences, heads], in units of log2
  // Of general rows alone.
  int unaligned;              ///< 1: rows are copied an element at a time
  float softcap;              ///< 0: none
  const float* alibi_slopes;  ///< or nullptr
  long long alibi_batch;
  const void* bias;  ///< as bias_kind says
  long long bias_batch, bias_head, bias_row, bias_key;
  BiasKind bias_kind;
};

}  // namespace flashfit
