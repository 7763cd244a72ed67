#pragma once
// What the layer of experts and its gradients share on the CPU: memory, threads, and choices sorted by expert.
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <new>
#include <vector>

#include "core/base/error.hpp"
#include "runtime/cpu/experts_work.hpp"
#include "runtime/cpu/parallel.hpp"

namespace flashfit::cpu {

// Below this much arithmetic a thread costs more to wake than it saves.
inline constexpr double kFlopsPerThread = 2e6;
struct FreeAligned {
  void operator()(float* p) const { ::operator delete[](p, std::align_val_t{kScratchAlignment}); }
};
using Floats = std::unique_ptr<float[], FreeAligned>;

inline Floats floats(std::int64_t count) {
  return Floats(new (std::align_val_t{kScratchAlignment}) float[static_cast<std::size_t>(count)]);
}

/// How many threads compute, each with memory of its own.
struct Workers {
  int threads;
  std::size_t each;  ///< floats of a thread's scratch
  Floats scratch;

  Workers(int threads, std::size_t bytes)
      : threads(threads),
        each((bytes / sizeof(float) + 15) / 16 * 16),
        scratch(floats(static_cast<std::int64_t>(each) * threads)) {}

  /// body(task, scratch) for each task.
  template <class Body>
  void run(std::int64_t tasks, const Body& body) const {
    struct Context {
      const Workers& workers;
      const Body& body;
    } context{*this, body};
    Pool::run(
        tasks, static_cast<int>(std::min<std::int64_t>(threads, tasks)),
        [](void* opaque, std::int64_t task, int slot) {
          const Context& c = *static_cast<Context*>(opaque);
          c.body(task, c.workers.scratch.get() + static_cast<std::size_t>(slot) * c.workers.each);
        },
        &context);
  }
};

/// The choices of some tokens, sorted by expert: an expert's in the order of tokens, a token's in that of its ranks.
struct Sorted {
  std::vector<Segment> segments;
  std::vector<std::int64_t> token, row;  ///< of each row its token; of each choice its row, or -1
  std::vector<float> weight;             ///< of each row

  Sorted(const ExpertsCall& call, std::int64_t first, std::int64_t tokens) {
    const ExpertsProblem& p = call.problem;
    const std::int64_t choices = tokens * p.top_k;
    const int* const ids = call.topk_ids + first * p.top_k;
    const float* const weights = call.topk_weights + first * p.top_k;
    std::vector<std::int64_t> next(static_cast<std::size_t>(p.owned()) + 1, 0);
    const auto owned = [&](std::int64_t c) { return ids[c] >= p.low && ids[c] < p.high; };
    for (std::int64_t c = 0; c < choices; ++c)
      if (owned(c)) ++next[ids[c] - p.low + 1];
    for (int e = 0; e < p.owned(); ++e) {
      next[e + 1] += next[e];
      if (next[e + 1] > next[e]) segments.push_back({e, next[e], next[e + 1]});
    }
    token.resize(static_cast<std::size_t>(next[p.owned()]));
    weight.resize(token.size());
    row.assign(static_cast<std::size_t>(choices), -1);
    for (std::int64_t c = 0; c < choices; ++c) {
      if (!owned(c)) continue;
      const std::int64_t at = next[ids[c] - p.low]++;
      token[at] = first + c / p.top_k;
      weight[at] = weights[c];
      row[c] = at;
    }
  }
};

inline double flops_of_a_row(const ExpertsProblem& p) {
  return 2.0 * p.hidden * (static_cast<double>(p.first_outputs()) + p.intermediate);
}

inline int useful_threads(double flops, int threads) {
  return static_cast<int>(std::clamp<double>(flops / kFlopsPerThread, 1, threads));
}

/// body(), or the error that memory ran out.
template <class Body>
Result<void> with_memory(const ExpertsProblem& p, Body body) {
  try {
    body();
    return {};
  } catch (const std::bad_alloc&) {
    return fail(Code::kOutOfMemory,
                fmt::format("experts on the CPU: no memory for rows of {} and {} between the products", p.hidden,
                            p.intermediate));
  }
}

}  // namespace flashfit::cpu
