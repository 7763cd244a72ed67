// The model against measured times: H200, B8 H16 S2048 fp16, one kernel in four forms (docs/plan.md).
#include "plan/model.hpp"

#include <gtest/gtest.h>

#include "plan/catalogue.hpp"
#include "plan/problems.hpp"

namespace flashfit {
namespace {

ForwardModel model(const ForwardConfig& c, int registers, const ForwardProblem& p, const char* name) {
  const Gpu gpu = find_gpu(name).value();
  return forward_model(c, occupancy({forward_threads(c), registers, forward_shared_bytes(c)}, gpu), 0, p, gpu);
}

constexpr ForwardConfig tile(int head_dim, int block_m, int block_n, int warps) {
  return {DType::kF16, head_dim, block_m, block_n, warps, 2, 1};
}

TEST(Model, IsWithin15PercentOfTheMeasuredKernelsAndRanksThem) {
  const ForwardProblem d64 = test::dense({.batch = 8, .heads = 16}),
                       d128 = test::dense({.head_dim = 128, .batch = 8, .heads = 16});
  const double tall64 = model(tile(64, 128, 64, 4), 219, d64, "H200").microseconds,
               many64 = model(tile(64, 128, 64, 8), 128, d64, "H200").microseconds;
  const double tall128 = model(tile(128, 128, 32, 4), 253, d128, "H200").microseconds,
               many128 = model(tile(128, 128, 64, 8), 187, d128, "H200").microseconds;
  EXPECT_NEAR(tall64, 481, 0.15 * 481);
  EXPECT_NEAR(many64, 543, 0.15 * 543);
  EXPECT_NEAR(tall128, 963, 0.15 * 963);
  EXPECT_NEAR(many128, 1079, 0.15 * 1079);
  EXPECT_LT(tall64, many64);
  EXPECT_LT(tall128, many128);
}

TEST(Model, CausalIsAboutHalfWhenLongAndTheSameWhenOneTile) {
  const auto us = [](std::int64_t queries, bool causal) {
    return model(tile(64, 128, 64, 4), 219,
                 test::dense({.batch = 8, .heads = 16, .queries = queries, .causal = causal}), "H200")
        .microseconds;
  };
  EXPECT_NEAR(us(16384, true) / us(16384, false), 0.5, 0.02);
  EXPECT_EQ(us(64, true), us(64, false));
}

TEST(Model, CausalWithMoreKeysThanQueriesSeesThemAll) {
  const auto us = [](bool causal) {
    return model(tile(64, 64, 64, 4), 154, test::dense({.batch = 64, .queries = 1, .keys = 8192, .causal = causal}),
                 "H200")
        .microseconds;
  };
  EXPECT_EQ(us(true), us(false));
}

TEST(Model, FewRowsTakeShortTilesAndManyTakeTallOnes) {
  const auto images = test::full_catalogue();
  const auto rows = [&](std::int64_t batch, std::int64_t heads, std::int64_t queries) {
    return plan_forward(test::dense({.batch = batch, .heads = heads, .queries = queries}), find_gpu("H200").value(), 0,
                        images)
        ->variant->config.block_m;
  };
  EXPECT_EQ(rows(2, 8, 512), 64);
  EXPECT_EQ(rows(1, 1, 64), 64);
  EXPECT_EQ(rows(8, 16, 2048), 128);
}

TEST(Model, DramBindsWhereOneQueryReadsManyKeys) {
  const ForwardProblem p = test::dense({.batch = 512, .heads = 32, .heads_kv = 32, .queries = 1, .keys = 8192});
  Gpu gpu = find_gpu("L4").value();
  gpu.dram_gb_s = 10;
  const ForwardConfig c = tile(64, 64, 64, 4);
  const ForwardModel m = forward_model(c, {2, "shared memory"}, 0, p, gpu);
  EXPECT_STREQ(m.bound, "DRAM");
  EXPECT_GE(m.microseconds, 2.0 * 512 * 32 * 8192 * 64 * 2 / 10e3);  // K and V once
}

TEST(Model, NothingToDoTakesNoTime) {
  EXPECT_EQ(model(tile(64, 64, 64, 4), 154, test::dense({.queries = 0}), "L4").microseconds, 0);
  EXPECT_EQ(model(tile(64, 64, 64, 4), 154, test::dense({.queries = 0}), "L4").waves, 0);
}

}  // namespace
}  // namespace flashfit
