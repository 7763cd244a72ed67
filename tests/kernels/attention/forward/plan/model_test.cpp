// The model against measured times of an H200 (docs/plan.md). Choices are held to more in
// tests/python/plan_choice_test.py.
#include "kernels/attention/forward/plan/model.hpp"

#include <gtest/gtest.h>

#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/problems.hpp"

namespace flashfit {
namespace {

ForwardModel model(const ForwardConfig& c, int registers, const ForwardProblem& p, const char* name) {
  const Gpu gpu = find_gpu(name).value();
  return forward_model(c, occupancy({forward_threads(c), registers, shared_bytes_of(c)}, gpu), 0, p, gpu);
}

constexpr ForwardConfig tile(int head_dim, int block_m, int block_n, int warps) {
  return tile_config(DType::kF16, head_dim, block_m, block_n, warps);
}

struct Measured {
  ForwardConfig config;
  int registers;
  std::int64_t batch, heads, queries, keys;
  double us;  // bench/results/variants_h200.json, no causal mask
};

TEST(Model, IsWithinAFifthOfWhatWasMeasured) {
  const Measured all[] = {
      {tile(64, 128, 64, 4), 235, 4, 24, 2500, 2500, 475.6},  {tile(64, 64, 64, 4), 128, 4, 24, 2500, 2500, 498.9},
      {tile(128, 128, 32, 4), 255, 4, 24, 2500, 2500, 856.1}, {tile(128, 64, 64, 4), 203, 4, 24, 2500, 2500, 941.2},
      {tile(256, 64, 32, 4), 255, 4, 24, 2500, 2500, 1766.6}, {tile(64, 64, 64, 4), 128, 2, 12, 384, 384, 8.77},
      {tile(128, 64, 64, 4), 203, 2, 12, 384, 384, 13.02},    {tile(256, 64, 32, 4), 255, 2, 12, 384, 384, 23.29}};
  for (const Measured& m : all) {
    const ForwardProblem p = test::dense(
        {.head_dim = m.config.head_dim, .batch = m.batch, .heads = m.heads, .queries = m.queries, .keys = m.keys});
    EXPECT_NEAR(model(m.config, m.registers, p, "H200").microseconds / m.us, 1, 0.2)
        << name_of(m.config) << ", " << m.queries;
  }
}

TEST(Model, CausalIsAboutHalfWhenLongAndAMaskMoreWhenOneTile) {
  const auto us = [](std::int64_t queries, bool causal) {
    return model(tile(64, 128, 64, 4), 219,
                 test::dense({.batch = 8, .heads = 16, .queries = queries, .causal = causal}), "H200")
        .microseconds;
  };
  EXPECT_NEAR(us(16384, true) / us(16384, false), 0.5, 0.02);
  // One tile either way, which the mask makes dearer.
  EXPECT_GT(us(64, true), us(64, false));
  EXPECT_LT(us(64, true), 1.3 * us(64, false));
}

TEST(Model, CausalWithMoreKeysThanQueriesSeesThemAll) {
  const auto us = [](bool causal) {
    return model(tile(64, 64, 64, 4), 154, test::dense({.batch = 64, .queries = 1, .keys = 8192, .causal = causal}),
                 "H200")
        .microseconds;
  };
  EXPECT_EQ(us(true), us(false));
}

TEST(Model, WindowsLowerTheTime) {
  const auto us = [](std::int64_t left, std::int64_t right, bool causal, std::int64_t keys = 0) {
    ForwardProblem p = test::dense({.batch = 8, .heads = 16, .queries = 8192, .keys = keys, .causal = causal});
    p.window_left = left, p.window_right = right;
    return model(tile(64, 128, 64, 4), 219, p, "H200").microseconds;
  };
  for (const std::int64_t keys : {4096, 8192, 16384}) {
    EXPECT_LT(us(1024, -1, true, keys), us(-1, -1, true, keys));
    EXPECT_LT(us(128, -1, true, keys), us(1024, -1, true, keys));
    EXPECT_LT(us(512, 512, false, keys), us(2048, 2048, false, keys));
    EXPECT_LT(us(2048, 2048, false, keys), us(-1, -1, false, keys));
    EXPECT_LT(us(-1, 512, false, keys), us(-1, -1, false, keys));
    EXPECT_LT(us(512, -1, false, keys), us(-1, -1, false, keys));
    EXPECT_EQ(us(1 << 20, 1 << 20, false, keys), us(-1, -1, false, keys));  // hides nothing
    EXPECT_EQ(us(512, 300, true, keys), us(512, 0, false, keys));           // causal: the right side is 0
  }
  // 1025 keys a row beside the 128 rows of a block, in tiles of 64: 19 of 128.
  EXPECT_NEAR(us(1024, 0, false) / us(-1, -1, false), 19.0 / 128, 0.02);
}

TEST(Model, GeneralRowsAndMoreSplitsThanHelpCost) {
  ForwardConfig general = tile(64, 64, 64, 4);
  general.kind = ForwardKind::kGeneral;
  const ForwardProblem p = test::dense({.batch = 8, .heads = 16});
  EXPECT_GT(model(general, 154, p, "H200").microseconds, model(tile(64, 64, 64, 4), 154, p, "H200").microseconds);
  const Gpu gpu = find_gpu("H200").value();
  const auto split = [&](int splits) {
    return forward_model(tile(64, 64, 64, 4), {3, "registers"}, 0, p, gpu, splits).microseconds;
  };
  EXPECT_GT(split(2), split(1));  // a full GPU gains nothing, and the parts are written and read
  EXPECT_GT(split(64), split(2));
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
  EXPECT_GE(rows(8, 16, 2048), 128);
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
