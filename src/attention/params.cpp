#include "attention/params.hpp"

namespace flashfit {

ForwardParams forward_params(const ForwardCall& call, std::int64_t slots) {
  const ForwardProblem& p = call.problem;
  ForwardParams k{};
  k.q = call.q.data, k.q_batch = call.q.batch_stride, k.q_row = call.q.row_stride, k.q_head = call.q.head_stride;
  k.k = call.k.data, k.k_batch = call.k.batch_stride, k.k_row = call.k.row_stride, k.k_head = call.k.head_stride;
  k.v = call.v.data, k.v_batch = call.v.batch_stride, k.v_row = call.v.row_stride, k.v_head = call.v.head_stride;
  k.o = call.o.data, k.o_batch = call.o.batch_stride, k.o_row = call.o.row_stride, k.o_head = call.o.head_stride;
  k.seqlen_q = static_cast<int>(p.variable_length ? p.total_q : p.seqlen_q);
  k.seqlen_k = static_cast<int>(p.variable_length ? p.total_k : p.seqlen_k);
  k.lse = call.lse;
  k.lse_head = k.seqlen_q;
  k.lse_batch = p.variable_length ? 0 : p.heads_q * k.lse_head;
  k.cu_seqlens_q = call.cu_seqlens_q;
  k.cu_seqlens_k = call.cu_seqlens_k;
  k.batch = static_cast<int>(p.batch);
  k.heads = static_cast<int>(p.heads_q);
  k.group = static_cast<int>(p.heads_q / p.heads_kv);
  k.slots = static_cast<int>(slots);
  k.causal = p.causal;
  k.softmax_scale = call.softmax_scale;
  return k;
}

}  // namespace flashfit
