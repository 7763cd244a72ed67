#include "runtime/cpu/attention.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "runtime/cpu/forward.hpp"
#include "runtime/cpu/parallel.hpp"

namespace flashfit::cpu {
namespace {

// Below this much arithmetic a thread costs more to wake than it saves.
constexpr double kFlopsPerThread = 2e6;

struct FreeAligned {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kScratchAlignment}); }
};

/// The sequences of a call and how they divide into tasks: one a block of rows that share a KV head.
class Work {
 public:
  Work(const ForwardCall& call, int rows) : call_(call), rows_(rows), first_task_(call.problem.batch + 1) {
    for (std::int64_t b = 0; b < call.problem.batch; ++b) {
      const RowBlock s = sequence(b);
      first_task_[b + 1] = first_task_[b] + call.problem.heads_kv * blocks(s);
      flops_ += 2.0 * static_cast<double>(s.seqlen_q * keys_in_window(s)) *
                static_cast<double>(call.problem.heads_q * (call.problem.head_dim + call.problem.head_dim_v));
    }
  }

  std::int64_t tasks() const { return first_task_.back(); }
  double flops() const { return flops_; }

  RowBlock block(std::int64_t task) const {
    const auto after = std::upper_bound(first_task_.begin(), first_task_.end(), task);
    RowBlock block = sequence(after - first_task_.begin() - 1);
    const std::int64_t count = blocks(block), index = task - *(after - 1);
    block.kv_head = index / count;
    block.begin = (count - 1 - index % count) * rows_;  // last rows first: under a causal mask they have the most work
    block.rows = std::min<std::int64_t>(rows_, rows_in(block) - block.begin);
    return block;
  }

 private:
  RowBlock sequence(std::int64_t b) const {
    const ForwardProblem& p = call_.problem;
    RowBlock all{.batch = b, .sequence = b, .seqlen_q = p.seqlen_q, .seqlen_k = p.seqlen_k};
    if (p.variable_length) {
      const std::int32_t *q = call_.cu_seqlens_q + b, *k = call_.cu_seqlens_k + b;
      all = {.batch = 0,
             .sequence = b,
             .q_start = q[0],
             .k_start = k[0],
             .seqlen_q = q[1] - q[0],
             .seqlen_k = k[1] - k[0]};
    }
    if (call_.seqused_k != nullptr) all.seqlen_k = call_.seqused_k[b];
    return all;
  }
  /// The most that a row sees.
  std::int64_t keys_in_window(const RowBlock& s) const {
    const ForwardProblem& p = call_.problem;
    const std::int64_t right = p.causal ? 0 : p.window_right;
    return p.window_left < 0 || right < 0 ? s.seqlen_k : std::min(s.seqlen_k, p.window_left + right + 1);
  }
  std::int64_t rows_in(const RowBlock& s) const {
    return s.seqlen_q * (call_.problem.heads_q / call_.problem.heads_kv);
  }
  std::int64_t blocks(const RowBlock& s) const { return (rows_in(s) + rows_ - 1) / rows_; }

  const ForwardCall& call_;
  std::int64_t rows_;
  std::vector<std::int64_t> first_task_;
  double flops_ = 0;
};

Result<void> run(const ForwardCall& call, const Kernel& kernel, int threads) {
  if (call.problem.heads_q == 0 || call.problem.heads_kv == 0) return {};  // else rows are grouped by their ratio
  const Work work(call, kernel.rows);
  threads = static_cast<int>(std::clamp<double>(work.flops() / kFlopsPerThread, 1, threads));
  threads = static_cast<int>(std::min<std::int64_t>(threads, work.tasks()));
  if (threads == 0) return {};
  const std::size_t each = kernel.scratch_bytes(call.problem) / sizeof(float);
  const std::unique_ptr<float[], FreeAligned> scratch(new (std::align_val_t{kScratchAlignment}) float[each * threads]);

  struct Context {
    const ForwardCall& call;
    const Kernel& kernel;
    const Work& work;
    float* scratch;
    std::size_t each;
  } context{call, kernel, work, scratch.get(), each};
  Pool::run(
      work.tasks(), threads,
      [](void* opaque, std::int64_t task, int slot) {
        const Context& c = *static_cast<Context*>(opaque);
        c.kernel.run(c.call, c.work.block(task), c.scratch + slot * c.each);
      },
      &context);
  return {};
}

}  // namespace

Result<void> attention_forward_on(const ForwardCall& call, const Kernel& kernel, int threads) {
  try {
    return run(call, kernel, threads);
  } catch (const std::bad_alloc&) {
    return fail(Code::kOutOfMemory, fmt::format("attention on the CPU: no memory for {} threads with head_dim {}",
                                                threads, call.problem.head_dim));
  }
}

Result<void> attention_forward(const ForwardCall& call) {
  return attention_forward_on(call, kernels().front(), default_threads());
}

}  // namespace flashfit::cpu
