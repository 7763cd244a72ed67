#pragma once
// Problems by their sizes.
#include "kernels/attention/problem.hpp"

namespace flashfit::test {

struct Sizes {
  DType dtype = DType::kF16;
  int head_dim = 64, head_dim_v = 0;  ///< 0: as head_dim
  std::int64_t batch = 1, heads = 8, heads_kv = 0, queries = 2048, keys = 0;
  bool causal = false;
};

inline ForwardProblem dense(const Sizes& s) {
  ForwardProblem p;
  p.dtype = s.dtype;
  p.head_dim = s.head_dim;
  p.head_dim_v = s.head_dim_v ? s.head_dim_v : s.head_dim;
  p.batch = s.batch;
  p.heads_q = s.heads;
  p.heads_kv = s.heads_kv ? s.heads_kv : s.heads;
  p.seqlen_q = s.queries;
  p.seqlen_k = s.keys ? s.keys : s.queries;
  p.total_q = p.batch * p.seqlen_q;
  p.total_k = p.batch * p.seqlen_k;
  p.causal = s.causal;
  return p;
}

/// `s.queries` rows in all, in s.batch sequences; no sequence has no rows.
inline ForwardProblem ragged(const Sizes& s) {
  ForwardProblem p = dense(s);
  p.variable_length = true;
  p.total_q = s.batch ? s.queries : 0;
  p.total_k = s.batch ? p.seqlen_k : 0;
  p.seqlen_q = s.batch ? (p.total_q + s.batch - 1) / s.batch : 0;
  p.seqlen_k = s.batch ? (p.total_k + s.batch - 1) / s.batch : 0;
  return p;
}

}  // namespace flashfit::test
