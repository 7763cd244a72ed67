// The CPU backend without its work: with it, a call costs what flashfit adds to any work. The LSE is cleared, since a
// backward that reads what lay in memory may meet numbers of which arithmetic is slow. A query of one key gets that
// key's value, which is right: by such a call flashfit tells whether this PyTorch hands a node's forward on to it.
#include <algorithm>
#include <cstring>

#include "runtime/cpu/attention.hpp"

namespace flashfit::cpu {

Result<void> attention_forward(const ForwardCall& call) {
  if (call.lse) std::fill_n(call.lse, call.problem.heads_q * call.problem.total_q, 0.0f);
  const ForwardProblem& p = call.problem;
  if (p.variable_length || p.batch != 1 || p.total_q != 1 || p.total_k != 1 || p.heads_q != p.heads_kv) return {};
  const std::size_t size = size_of(p.dtype);
  const auto at = [&](const TensorView& view, std::int64_t head) {
    return static_cast<char*>(view.data) + static_cast<std::size_t>(head * view.head_stride) * size;
  };
  for (std::int64_t head = 0; head < p.heads_q; ++head)
    std::memcpy(at(call.o, head), at(call.v, head), static_cast<std::size_t>(p.head_dim_v) * size);
  return {};
}

}  // namespace flashfit::cpu
