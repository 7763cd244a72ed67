#pragma once
// What is right: attention in fp64, written apart from the library, and the same computation with a dtype's own
// roundings, whose error says how much error is fair. Slow and plain on purpose.
#include <cstdint>
#include <vector>

#include "base/types.hpp"

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
};

struct Problem {
  DType dtype;
  std::int64_t heads_q, heads_kv, head_dim;
  bool causal;  ///< key j is visible to query i iff j <= i + k_len - q_len
  double softmax_scale;
  std::vector<Sequence> sequences;
};

/// out[row] of sequence b, query i, head h, dim d is out[((first + i) * heads_q + h) * head_dim + d], where first
/// counts the query rows of the sequences before b; lse (natural log) is lse[(first + i) * heads_q + h].
struct Output {
  std::vector<double> out, lse;
};

/// A value of `dtype` as a double.
double load(const void* data, DType dtype, std::int64_t index);

/// fp64 throughout. A query that sees no key gives 0 and LSE -inf.
/// Keys that it does not see contribute nothing, not even 0 * NaN.
Output attention(const Problem& problem, const View& q, const View& k, const View& v);

/// The roundings of a plain computation in the dtype: scores accumulated in fp32 and rounded to the dtype, softmax in
/// fp32 rounded to the dtype, their product with V accumulated in fp32 and rounded
/// to the dtype. LSE in fp32, of the rounded scores.
Output naive_same_dtype(const Problem& problem, const View& q, const View& k, const View& v);

/// The largest softmax_scale * sum over dim of |q * k| over visible pairs:
/// what rounding errors of scores are relative to.
double score_magnitude(const Problem& problem, const View& q, const View& k);

}  // namespace flashfit::reference
