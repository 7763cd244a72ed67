// How keys are cut, where the parts lie in the workspace, and what combines them.
#include "kernels/attention/forward/plan/splits.hpp"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <random>

#include "kernels/attention/forward/combine/variants.hpp"
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

Result<TensorMap> encode(const TensorMapSpec&) { return TensorMap{}; }

/// The argument of the launch of the parts.
ForwardParams params_of(const ForwardPlan& plan, const ForwardArguments& arguments) {
  const void* const first = arguments.all()[0];
  return plan.variant->config.engine == ForwardEngine::kWgmma ? static_cast<const WgmmaForwardParams*>(first)->forward
                                                              : *static_cast<const ForwardParams*>(first);
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
    const std::int32_t* const offsets = p.variable_length ? reinterpret_cast<const std::int32_t*>(memory) : nullptr;
    ASSERT_TRUE(arguments.set(plan, {.problem = p, .cu_seqlens_q = offsets, .cu_seqlens_k = offsets}, memory, encode));
    const ForwardParams parts = params_of(plan, arguments);
    EXPECT_EQ(parts.splits, plan.splits);
    if (plan.splits == 1) {
      EXPECT_EQ(plan.workspace_bytes, 0u);
      EXPECT_EQ(plan.steps.size(), 1u);
      EXPECT_EQ(parts.partial_o, nullptr);
      EXPECT_EQ(parts.partial_lse, nullptr);
      continue;
    }
    EXPECT_EQ(parts.split_tiles, plan.split_tiles);
    EXPECT_EQ(plan.steps.size(), 2u);
    const CombineParams combine = *static_cast<const CombineParams*>(arguments.all()[1]);
    EXPECT_EQ(combine.partial_o, parts.partial_o);
    EXPECT_EQ(combine.partial_lse, parts.partial_lse);
    EXPECT_EQ(combine.parts, plan.splits);
    EXPECT_EQ(combine.rows, p.total_q * p.heads_q);
    EXPECT_EQ(combine.columns, plan.variant->config.head_dim_v);
    EXPECT_EQ(combine.head_dim_v, p.head_dim_v);
    ++cut;
    // [splits, rows of all sequences, heads, head_dim_v of the variant], then [splits, rows of all sequences, heads].
    const std::int64_t rows = plan.splits * p.total_q * p.heads_q;
    EXPECT_EQ(reinterpret_cast<char*>(parts.partial_o), memory);
    EXPECT_EQ(parts.partial_lse, parts.partial_o + rows * plan.variant->config.head_dim_v);
    EXPECT_EQ(reinterpret_cast<char*>(parts.partial_lse + rows), memory + plan.workspace_bytes);
  }
  EXPECT_GT(cut, 500);
}

TEST(Splits, BlocksThatStayDoNotCountTilesWherePartsLie) {
  for (const std::int64_t batch : {1, 3, 200}) {
    const ForwardProblem p = ragged({.dtype = DType::kBF16,
                                     .head_dim = 128,
                                     .batch = batch,
                                     .heads_kv = 2,
                                     .queries = 5 * batch,
                                     .keys = 9000 * batch});
    for (const int parts : {1, 4}) {
      const std::string name = fmt::format("fwd_wgmma_bf16_d128_128x128_w8_s2_b1_packed/{}", parts);
      const ForwardPlan plan = plan_forward(p, find_gpu("H100").value(), 0, kAll, {.variant = name}).value();
      EXPECT_EQ(plan.splits, parts);
      EXPECT_EQ(plan.steps.size(), parts == 1 ? 1u : 2u);
      EXPECT_EQ(plan.steps[0].grid.y, parts);
      EXPECT_LE(plan.grid() * parts, 132);
      EXPECT_EQ(shares_counter(plan.steps), parts == 1 && batch == 200);
      if (parts > 1) {
        EXPECT_EQ(plan.workspace_bytes, 4u * p.total_q * p.heads_q * 129 * sizeof(float));
      }
    }
  }
}

TEST(Combine, HasWarpsForEachRowAndHead) {
  for (const std::int64_t queries : {1, 2, 3, 4, 5, 63})
    for (const int head_dim : {64, 128, 160, 256, 512})
      for (const std::int64_t keys : {1000, 30000}) {
        const ForwardProblem p = dense({.head_dim = head_dim, .heads = 3, .queries = queries, .keys = keys});
        const ForwardPlan plan = planned(p, "H100");
        ASSERT_GT(plan.splits, 1);
        const Step& combine = plan.steps[1];
        EXPECT_EQ(combine.image->variant->name, "combine_fp16");
        const int rows_a_block = kCombineWarps >> combining_warps_log2(plan.splits);
        EXPECT_GE(combine.grid.x * rows_a_block, 3 * queries);
        EXPECT_LT((combine.grid.x - 1) * rows_a_block, 3 * queries);
        EXPECT_EQ(combine.grid.y, (plan.variant->config.head_dim_v + 127) / 128);
      }
}

TEST(Combine, WarpsOfARowTakeUpToEightPartsEach) {
  for (int parts = 2; parts <= kMostParts; ++parts) {
    const int warps = 1 << combining_warps_log2(parts);
    EXPECT_LE(warps, kCombineWarps);
    EXPECT_LE(parts, warps * kPartsOfAWarp) << parts;
    EXPECT_TRUE(warps == 1 || parts > warps * kFewPartsOfAWarp / 2) << parts << ": a warp is idle";
  }
}

TEST(Steps, BeginEarlyWhereTheirCodeWaits) {
  const ForwardProblem p = dense({.head_dim = 128, .heads = 3, .queries = 1, .keys = 30000});
  for (const char* gpu : {"T4", "A100", "L4", "H100", "B200", "RTX 5090"}) {
    const ForwardPlan plan = planned(p, gpu);
    ASSERT_EQ(plan.steps.size(), 2u);
    // The first begins before the caller's kernels have ended.
    for (const Step& step : plan.steps)
      EXPECT_EQ(step.dependent(), find_gpu(gpu)->cc >= (ComputeCapability{9, 0})) << gpu;
  }
  // PTX of 8.0 waits for nothing, on whatever GPU it runs.
  const ForwardPlan ptx = plan_forward(p, find_gpu("H100").value(), 0, kAll, {.ptx_only = true}).value();
  ASSERT_EQ(ptx.steps.size(), 2u);
  EXPECT_FALSE(ptx.steps[0].dependent() || ptx.steps[1].dependent());
}

TEST(Combine, WithoutAnImageForItNoKeysAreCut) {
  std::vector<Image> images = kAll;
  std::erase_if(images, [](const Image& i) { return i.variant->name == "combine_fp16" && i.target.cc == 90; });
  const ForwardProblem p = dense({.head_dim = 128, .heads = 3, .queries = 1, .keys = 30000});
  const auto plan = [&] { return plan_forward(p, find_gpu("H100").value(), 0, images).value(); };
  EXPECT_GT(plan().splits, 1);  // PTX of 8.0 is left
  EXPECT_FALSE(plan().steps[1].dependent());
  std::erase_if(images, [](const Image& i) { return i.variant->name == "combine_fp16"; });
  EXPECT_EQ(plan().splits, 1);
  EXPECT_EQ(plan().steps.size(), 1u);
}

}  // namespace
}  // namespace flashfit
