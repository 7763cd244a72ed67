#pragma once
// The rows of a problem from its sizes; each below 2^31, so that products fit.
#include "kernels/attention/problem.hpp"

namespace flashfit::api {

/// Of `p.batch` sequences of one length.
inline void set_dense_rows(ForwardProblem& p, std::int64_t seqlen_q, std::int64_t seqlen_k) {
  p.variable_length = false;
  p.seqlen_q = seqlen_q;
  p.seqlen_k = seqlen_k;
  p.total_q = p.batch * seqlen_q;
  p.total_k = p.batch * seqlen_k;
}

/// Of `p.batch` sequences that share the rows somehow.
inline void set_ragged_rows(ForwardProblem& p, std::int64_t total_q, std::int64_t total_k) {
  const std::int64_t sequences = p.batch > 0 ? p.batch : 1;
  p.variable_length = true;
  p.total_q = total_q;
  p.total_k = total_k;
  p.seqlen_q = (total_q + sequences - 1) / sequences;
  p.seqlen_k = (total_k + sequences - 1) / sequences;
}

}  // namespace flashfit::api
