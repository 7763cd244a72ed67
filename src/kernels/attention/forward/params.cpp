#include "kernels/attention/forward/params.hpp"

namespace flashfit {
namespace {

/// A limit that reaches past all rows is none: the kernel looks for no edge then.
int window_limit(std::int64_t limit, int rows) { return limit < 0 || limit >= rows ? -1 : static_cast<int>(limit); }

}  // namespace

ForwardParams forward_params(const ForwardCall& call, std::int64_t slots, const KeySplits& splits) {
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
  k.seqused_k = call.seqused_k;
  k.head_dim = p.head_dim;
  k.head_dim_v = p.head_dim_v;
  k.batch = static_cast<int>(p.batch);
  k.slots = static_cast<int>(slots);
  if (slots > 0) {  // else nothing is launched, and there may be nothing to divide by
    k.heads = Divisor(static_cast<int>(p.heads_q));
    k.group = Divisor(static_cast<int>(p.heads_q / p.heads_kv));
    if (!p.variable_length) k.tiles = Divisor(k.slots / k.batch);
  }
  k.causal = p.causal;
  k.window_left = window_limit(p.window_left, k.seqlen_k);
  k.window_right = window_limit(p.window_right, k.seqlen_q);
  k.softmax_scale = call.softmax_scale;
  k.sinks = call.sinks;
  k.splits = splits.splits, k.split_tiles = splits.tiles;
  k.partial_o = splits.o, k.partial_lse = splits.lse;
  k.unaligned = p.unaligned || p.head_dim % 8 != 0 || p.head_dim_v % 8 != 0;
  k.softcap = call.softcap;
  k.alibi_slopes = call.alibi_slopes, k.alibi_batch = call.alibi_batch_stride;
  k.bias = call.bias, k.bias_kind = p.bias;
  k.bias_batch = call.bias_batch_stride, k.bias_head = call.bias_head_stride;
  k.bias_row = call.bias_row_stride, k.bias_key = call.bias_key_stride;
  return k;
}

}  // namespace flashfit
