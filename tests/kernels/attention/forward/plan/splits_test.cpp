// How keys are cut, where the parts lie in the workspace, and what combines them.
#include "kernels/attention/forward/plan/splits.hpp"

#include <gtest/gtest.h>

#include <random>

#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/model.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/plan/problems.hpp"
#include "kernels/attention/forward/plan/steps.hpp"

namespace flashfit {
namespace {

using test::dense;
using test::ragged;

const std::vector<Image> kAll = test::full_catalogue();

ForwardPlan planned(const ForwardProblem& p, const char* gpu) {
  return plan_forward(p, find_gpu(gpu).value(), 0, kAll).value();
}

std::int64_t tiles_of(const ForwardProblem& p, const ForwardPlan& plan) {
  const int block_n = plan.variant->config.block_n;
  return (p.seqlen_k + block_n - 1) / block_n;
}

template <class T>
T pick(std::mt19937& random, std::initializer_list<T> from) {
  return from.begin()[random() % from.size()];
}

TEST(Splits, ADecodeIsCutAndAFullGpuIsNot) {
  for (const char* gpu : {"T4", "L4", "A100", "H100", "B200", "RTX 5090"}) {
    EXPECT_GT(planned(dense({.head_dim = 128, .heads = 8, .queries = 1, .keys = 32768}), gpu).splits, 1) << gpu;
    EXPECT_EQ(planned(dense({.head_dim = 128, .batch = 8, .heads = 16}), gpu).splits, 1) << gpu;
    EXPECT_EQ(planned(dense({.head_dim = 128, .batch = 512, .queries = 1, .keys = 32768}), gpu).splits, 1) << gpu;
    EXPECT_EQ(planned(dense({.heads = 1, .queries = 1, .keys = 64}), gpu).splits, 1) << gpu;
  }
}

TEST(Splits, NeverMoreBlocksThanTheGpuHoldsAndNoPartWithoutTiles) {
  std::mt19937 random(11);
  int cut = 0;
  for (int round = 0; round < 20000; ++round) {
    const Gpu& gpu = gpu_table()[random() % gpu_table().size()];
    ForwardProblem p = dense({.head_dim = pick(random, {32, 64, 80, 128, 192, 256, 512}),
                              .batch = pick<std::int64_t>(random, {1, 2, 3, 16}),
                              .heads = pick<std::int64_t>(random, {1, 2, 5, 8, 32}),
                              .queries = pick<std::int64_t>(random, {1, 7, 64, 65, 200}),
                              .keys = 1 + static_cast<std::int64_t>(random() % 40000),
                              .causal = random() % 2 == 0});
    p.softcap = random() % 4 == 0;
    p.batch_invariant = random() % 4 == 0;
    const auto plan = plan_forward(p, gpu, 0, kAll);
    if (!plan) continue;
    ASSERT_GE(plan->splits, 1);
    if (plan->splits == 1) continue;
    ++cut;
    // A batch-invariant call is cut as one sequence of it would be.
    const std::int64_t grid = p.batch_invariant ? plan->grid() / p.batch : plan->grid();
    EXPECT_LE(grid * plan->splits, std::int64_t{gpu.sms} * plan->model.blocks_per_sm);
    const std::int64_t tiles = tiles_of(p, *plan);
    EXPECT_LT((plan->splits - 1) * std::int64_t{plan->split_tiles}, tiles) << "the last part has no tile";
    EXPECT_GE(plan->splits * std::int64_t{plan->split_tiles}, tiles) << "tiles are left over";
    EXPECT_GE(plan->split_tiles, 2);
  }
  EXPECT_GT(cut, 2000);
}

TEST(Splits, AreTakenOnlyWhereTheModelGains) {
  for (const char* name : {"L4", "H100"}) {
    const Gpu gpu = find_gpu(name).value();
    for (const std::int64_t keys : {256, 1024, 4096, 65536}) {
      const ForwardProblem p = dense({.heads = 4, .queries = 16, .keys = keys});
      ForwardProblem whole = p;
      whole.batch = 4096;  // so many blocks that nothing is cut
      whole.total_q = 4096 * 16;
      ASSERT_EQ(plan_forward(whole, gpu, 0, kAll)->splits, 1);
      const auto plan = plan_forward(p, gpu, 0, kAll);
      const ForwardConfig& c = plan->variant->config;
      const Occupancy resident =
          occupancy({plan->kernel_variant().threads, plan->registers, plan->kernel_variant().shared_bytes}, gpu);
      const double at_once = forward_model(c, resident, 0, p, gpu, 1).microseconds;
      if (plan->splits == 1)
        EXPECT_EQ(plan->model.microseconds, at_once);
      else
        EXPECT_LT(plan->model.microseconds, at_once);
    }
  }
}

TEST(Workspace, IsExactlyWhatThePartsLieIn) {
  std::mt19937 random(12);
  int cut = 0;
  for (int round = 0; round < 3000; ++round) {
    const test::Sizes s{.head_dim = pick(random, {64, 80, 128, 192}),
                        .head_dim_v = random() % 2 ? 0 : 64,
                        .batch = pick<std::int64_t>(random, {1, 3}),
                        .heads = pick<std::int64_t>(random, {1, 5}),
                        .queries = pick<std::int64_t>(random, {3, 67}),
                        .keys = 1 + static_cast<std::int64_t>(random() % 20000)};
    const ForwardProblem p = random() % 2 ? dense(s) : ragged(s);
    const ForwardPlan plan = planned(p, "H100");
    char* const memory = reinterpret_cast<char*>(std::uintptr_t{1} << 40);
    ForwardArguments arguments;
    ASSERT_TRUE(arguments.set(plan, {.problem = p}, memory, nullptr));
    const auto params = [&](int step) { return *static_cast<const ForwardParams*>(arguments.all()[step]); };
    const ForwardParams parts = params(0);
    EXPECT_EQ(parts.splits, plan.splits);
    EXPECT_EQ(parts.combine, 0);
    if (plan.splits == 1) {
      EXPECT_EQ(plan.workspace_bytes, 0u);
      EXPECT_EQ(plan.steps.size(), 1u);
      EXPECT_EQ(parts.partial_o, nullptr);
      EXPECT_EQ(parts.partial_lse, nullptr);
      continue;
    }
    EXPECT_EQ(parts.split_tiles, plan.split_tiles);
    EXPECT_EQ(plan.steps.size(), 2u);
    EXPECT_EQ(params(1).combine, 1);
    EXPECT_EQ(params(1).partial_o, parts.partial_o);
    ++cut;
    // [splits, rows of all sequences, heads, head_dim_v of the variant], then [splits, rows of all sequences, heads].
    const std::int64_t rows = plan.splits * p.total_q * p.heads_q;
    EXPECT_EQ(reinterpret_cast<char*>(parts.partial_o), memory);
    EXPECT_EQ(parts.partial_lse, parts.partial_o + rows * plan.variant->config.head_dim_v);
    EXPECT_EQ(reinterpret_cast<char*>(parts.partial_lse + rows), memory + plan.workspace_bytes);
  }
  EXPECT_GT(cut, 500);
}

TEST(Combine, HasAWarpForEachRowAndHead) {
  for (const std::int64_t queries : {1, 2, 3, 4, 5, 63}) {
    const ForwardProblem p = dense({.head_dim = 128, .heads = 3, .queries = queries, .keys = 30000});
    const ForwardPlan plan = planned(p, "H100");
    ASSERT_GT(plan.splits, 1);
    const int rows_a_block = combined_rows(plan.variant->config);
    EXPECT_EQ(rows_a_block, plan.variant->config.warps);
    EXPECT_GE(plan.steps[1].grid.x * rows_a_block, 3 * queries);
    EXPECT_LT((plan.steps[1].grid.x - 1) * rows_a_block, 3 * queries);
  }
}

}  // namespace
}  // namespace flashfit
