#include "runtime/cpu/experts.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <new>
#include <vector>

#include "core/base/half.hpp"
#include "runtime/cpu/experts_rows.hpp"

namespace flashfit::cpu {
namespace {

// Between the products a row needs memory; of more rows than these bytes hold, some are computed after others.
constexpr std::int64_t kBytesBetween = 128 << 20;
constexpr std::int64_t kTokensPerTask = 16;

/// Both products of rows that lie sorted by expert.
struct Products {
  ExpertsWork work;
  Floats h, y;

  Products(const Workers& workers, const ExpertsKernels& kernels, const ExpertsCall& call,
           std::span<const Segment> segments, std::int64_t rows, const std::int64_t* token, const float* x_weight)
      : work{.call = call, .segments = segments, .x = {}, .token = token, .x_weight = x_weight} {
    const ExpertsProblem& p = call.problem;
    work.x = {call.x, p.dtype, call.x_row, 1};
    kernels.divide(work);
    h = floats(rows * work.h_row), y = floats(rows * p.hidden);
    work.h = h.get(), work.y = y.get();
    const auto count = static_cast<std::int64_t>(segments.size());
    workers.run(count * work.feature_tasks, [&](auto task, float* scratch) { kernels.first(work, task, scratch); });
    workers.run(count * work.column_tasks, [&](auto task, float* scratch) { kernels.second(work, task, scratch); });
  }
  const float* row(std::int64_t r) const { return work.y + r * work.call.problem.hidden; }
};

std::int64_t bytes_of_a_row(const ExpertsProblem& p) {
  return (p.intermediate + 16 + static_cast<std::int64_t>(p.hidden)) * static_cast<std::int64_t>(sizeof(float));
}

float element(const void* data, DType dtype, std::int64_t i) {
  if (dtype == DType::kF16) return to_float(static_cast<const f16*>(data)[i]);
  if (dtype == DType::kBF16) return to_float(static_cast<const bf16*>(data)[i]);
  return static_cast<const float*>(data)[i];
}

float shared_weight(const ExpertsCall& call, const SharedExpert& shared, std::int64_t token) {
  if (shared.gate == nullptr) return 1;
  double sum = 0;
  for (std::int64_t i = 0; i < call.problem.hidden; ++i)
    sum += static_cast<double>(element(call.x, call.problem.dtype, token * call.x_row + i)) *
           element(shared.gate, call.problem.dtype, i);
  return static_cast<float>(1 / (1 + std::exp(-sum)));
}

std::byte* out_row(const ExpertsCall& call, std::int64_t row) {
  return static_cast<std::byte*>(call.out) + row * call.out_row * size_of(call.problem.dtype);
}

/// Some tokens of a call.
void run_tokens(const ExpertsCall& call, const SharedExpert* shared, const Workers& workers,
                const ExpertsKernels& kernels, std::int64_t first, std::int64_t tokens) {
  const ExpertsProblem& p = call.problem;
  const Sorted sorted(call, first, tokens);
  const bool on_input = p.weight_on == WeightOn::kInput;
  const Products routed(workers, kernels, call, sorted.segments, static_cast<std::int64_t>(sorted.token.size()),
                        sorted.token.data(), on_input ? sorted.weight.data() : nullptr);
  std::unique_ptr<const Products> common;
  std::vector<std::int64_t> all;
  ExpertsCall of_all;
  const Segment one[] = {{0, 0, tokens}};
  if (shared != nullptr) {
    of_all = shared->call;
    of_all.x = call.x, of_all.x_row = call.x_row;
    for (std::int64_t t = 0; t < tokens; ++t) all.push_back(first + t);
    common = std::make_unique<const Products>(workers, kernels, of_all, one, tokens, all.data(), nullptr);
  }
  workers.run((tokens + kTokensPerTask - 1) / kTokensPerTask, [&](std::int64_t task, float* scratch) {
    const std::int64_t end = std::min((task + 1) * kTokensPerTask, tokens);
    for (std::int64_t t = task * kTokensPerTask; t < end; ++t) {
      const float* rows[kMostChosen + 1];
      float weights[kMostChosen + 1];
      int parts = 0;
      for (int k = 0; k < p.top_k; ++k) {
        const std::int64_t row = sorted.row[t * p.top_k + k];
        if (row < 0) continue;
        rows[parts] = routed.row(row);
        weights[parts++] = on_input ? 1.0f : sorted.weight[row];
      }
      if (common) {
        rows[parts] = common->row(t);
        weights[parts++] = shared_weight(call, *shared, first + t);
      }
      kernels.combine(rows, weights, parts, p.hidden, p.dtype, out_row(call, first + t), scratch);
    }
  });
}

void run_groups(const ExpertsCall& call, std::span<const Segment> all, const Workers& workers,
                const ExpertsKernels& kernels, std::int64_t first, std::int64_t rows) {
  const ExpertsProblem& p = call.problem;
  std::vector<Segment> segments;
  std::vector<bool> of_expert(static_cast<std::size_t>(rows), false);
  for (const Segment& s : all) {
    const Segment part{s.expert, std::max(s.begin - first, std::int64_t{0}), std::min(s.end - first, rows)};
    if (part.begin >= part.end) continue;
    segments.push_back(part);
    std::fill(of_expert.begin() + part.begin, of_expert.begin() + part.end, true);
  }
  ExpertsCall mine = call;
  mine.x = static_cast<const std::byte*>(call.x) + first * call.x_row * size_of(p.dtype);
  const Products products(workers, kernels, mine, segments, rows, nullptr, nullptr);
  workers.run((rows + kTokensPerTask - 1) / kTokensPerTask, [&](std::int64_t task, float* scratch) {
    for (std::int64_t r = task * kTokensPerTask; r < std::min((task + 1) * kTokensPerTask, rows); ++r) {
      const float* const row = products.row(r);
      constexpr float kOne = 1;
      kernels.combine(&row, &kOne, of_expert[r], p.hidden, p.dtype, out_row(call, first + r), scratch);
    }
  });
}

/// body(first, count) for parts of `count` that need so many bytes each.
template <class Body>
void in_parts(std::int64_t count, std::int64_t bytes, const Body& body) {
  const std::int64_t most = std::max<std::int64_t>(kBytesBetween / bytes, 1);
  for (std::int64_t first = 0; first < count; first += most) body(first, std::min(most, count - first));
}

}  // namespace

Result<void> experts_on(const ExpertsCall& call, const SharedExpert* shared, const Kernel& kernel, int threads) {
  const ExpertsProblem& p = call.problem;
  if (p.tokens == 0) return {};
  return with_memory(p, [&] {
    double flops = flops_of_a_row(p) * p.top_k;
    std::int64_t bytes = bytes_of_a_row(p) * p.top_k;
    std::size_t scratch = std::max(kernel.experts.scratch_bytes(p), p.hidden * sizeof(float));
    if (shared != nullptr) {
      flops += flops_of_a_row(shared->call.problem);
      bytes += bytes_of_a_row(shared->call.problem);
      scratch = std::max(scratch, kernel.experts.scratch_bytes(shared->call.problem));
    }
    const Workers workers(useful_threads(flops * static_cast<double>(p.tokens), threads), scratch);
    in_parts(p.tokens, bytes,
             [&](auto first, auto count) { run_tokens(call, shared, workers, kernel.experts, first, count); });
  });
}

Result<void> experts(const ExpertsCall& call, const SharedExpert* shared) {
  return experts_on(call, shared, kernels().front(), default_threads());
}

Result<void> grouped_mlp_on(const ExpertsCall& call, const std::int32_t* offsets, const Kernel& kernel, int threads) {
  const ExpertsProblem& p = call.problem;
  if (p.tokens == 0) return {};
  return with_memory(p, [&] {
    std::vector<Segment> segments;
    for (int e = 0; e < p.owned(); ++e)
      if (offsets[e] < offsets[e + 1]) segments.push_back({e, offsets[e], offsets[e + 1]});
    const std::size_t scratch = std::max(kernel.experts.scratch_bytes(p), p.hidden * sizeof(float));
    const double flops = flops_of_a_row(p) * static_cast<double>(p.tokens);
    const Workers workers(useful_threads(flops, threads), scratch);
    in_parts(p.tokens, bytes_of_a_row(p),
             [&](auto first, auto count) { run_groups(call, segments, workers, kernel.experts, first, count); });
  });
}

Result<void> grouped_mlp(const ExpertsCall& call, const std::int32_t* offsets) {
  return grouped_mlp_on(call, offsets, kernels().front(), default_threads());
}

}  // namespace flashfit::cpu
