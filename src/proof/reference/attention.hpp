#pragma once
// What is right: attention in fp64, written apart from the library, and the same computation with a dtype's own
// roundings, whose error says how much error is fair. Slow and plain on purpose.
#include <cstdint>
#include <vector>

#include "core/base/types.hpp"

namespace flashfit::reference {

/// A tensor [row, head, head_dim] with strides in elements. Rows of sequence b begin at Sequence::q_row or k_row, times
/// row stride, plus b * batch stride, so that dense and variable-length tensors are the same thing.
struct View {
  const void* data;
  std::int64_t batch_stride, row_stride, head_stride, dim_stride;
};

struct Sequence {
  std::int64_t q_row, k_row;  ///< first row
  std::int64_t q_len, k_len;
  /// Where these are some rows and keys of a longer sequence: query i stands at key i + k_len - q_len - left_out, the
  /// queries left out behind these less the keys left out behind these.
  std::int64_t left_out = 0;
};

/// A tensor [sequence, head, query, key] with strides in elements.
struct Bias {
  const void* data = nullptr;
  bool visible = false;       ///< of bool: a key is seen where it is true; else added to the score
  DType dtype = DType::kF32;  ///< of what is added
  std::int64_t batch_stride = 0, head_stride = 0, row_stride = 0, key_stride = 0;
};

/// What is not set is not asked for.
struct Problem {
  DType dtype;
  std::int64_t heads_q, heads_kv, head_dim;
  bool causal;  ///< key j is visible to query i iff j <= i + k_len - q_len
  double softmax_scale;
  std::vector<Sequence> sequences;
  std::int64_t head_dim_v = 0;                       ///< 0: as head_dim
  std::int64_t window_left = -1, window_right = -1;  ///< j from i + k_len - q_len - left to ... + right
  double softcap = 0;                                ///< score = softcap * tanh(score / softcap)
  const float* alibi_slopes = nullptr;               ///< then score -= slope * |i + k_len - q_len - j|
  std::int64_t alibi_batch_stride = 0;
  Bias bias;                     ///< then score += bias; -inf: not seen
  const float* sinks = nullptr;  ///< of each head: exp(sink) joins the sum of weights
  std::int64_t sinks_batch_stride = 0;

  std::int64_t dim_v() const { return head_dim_v ? head_dim_v : head_dim; }
};

/// Whether a head's query sees a key of the sequence.
bool sees(const Problem& problem, std::int64_t sequence, std::int64_t head, std::int64_t query, std::int64_t key);

/// How many keys a head's query sees.
std::int64_t keys_seen(const Problem& problem, std::int64_t sequence, std::int64_t head, std::int64_t query);

/// out[row] of sequence b, query i, head h, dim d is out[((first + i) * heads_q + h) * dim_v + d], where first
/// counts the query rows of the sequences before b; lse (natural log) is lse[(first + i) * heads_q + h].
struct Output {
  std::vector<double> out, lse;
};

/// A value of `dtype` as a double.
double load(const void* data, DType dtype, std::int64_t index);

/// fp64 throughout. A query that sees no key gives 0 and LSE -inf, or its head's sink.
/// Keys that it does not see contribute nothing, not even 0 * NaN.
Output attention(const Problem& problem, const View& q, const View& k, const View& v);

/// The roundings of a plain computation in the dtype: scores accumulated in fp32 and rounded to the dtype, and again
/// after each of softcap, ALiBi and bias, softmax in fp32 rounded to the dtype, their product with V accumulated in
/// fp32 and rounded to the dtype. LSE in fp32, of the rounded scores.
Output naive_same_dtype(const Problem& problem, const View& q, const View& k, const View& v);
/// The same with scores kept in fp32, as fused kernels keep them: what is left to compare with where scores are past
/// the dtype's range.
Output naive_wide_scores(const Problem& problem, const View& q, const View& k, const View& v);

/// What rounding errors of scores are relative to, in the row where that is most: the largest softmax_scale * sum over
/// dim of |q * k| over visible pairs, as far as softcap lets it through, and the mean, by weight, of what softcap,
/// ALiBi, bias and sink round (docs/numerics.md).
double score_magnitude(const Problem& problem, const View& q, const View& k);

}  // namespace flashfit::reference
