#include "kernels/attention/pack.hpp"

#include <initializer_list>

namespace flashfit {

bool packs_heads(const ForwardProblem& p) {
  return !p.variable_length && p.seqlen_q == 1 && p.heads_kv > 0 && p.heads_q > p.heads_kv && !p.alibi && !p.sinks &&
         p.bias == BiasKind::kNone && p.window_left < 0;
}

ForwardProblem pack_heads(const ForwardProblem& problem) {
  ForwardProblem p = problem;
  p.seqlen_q = p.heads_q / p.heads_kv;
  p.heads_q = p.heads_kv;
  p.total_q = p.batch * p.seqlen_q;
  // The one query is the last: it sees every key.
  p.causal = false;
  p.window_right = -1;
  return p;
}

ForwardCall pack_heads(const ForwardCall& call) {
  ForwardCall c = call;
  c.problem = pack_heads(call.problem);
  for (TensorView* t : {&c.q, &c.o}) {
    t->row_stride = t->head_stride;
    t->head_stride *= c.problem.seqlen_q;
  }
  return c;
}

}  // namespace flashfit
