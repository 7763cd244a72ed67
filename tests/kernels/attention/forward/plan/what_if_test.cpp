#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/plan/problems.hpp"

namespace flashfit {
namespace {

using testing::AllOf;
using testing::HasSubstr;

constexpr ForwardConfig kOrigin = tile_config(DType::kF16, 128, 128, 128, 4);

Gpu gpu(const char* name) { return find_gpu(name).value(); }
ForwardProblem problem_of(const ForwardConfig& c) {
  return test::dense({.dtype = c.dtype, .head_dim = c.head_dim, .head_dim_v = c.head_dim_v});
}
Fit fit(const ForwardConfig& c, const char* name) { return what_if(c, problem_of(c), gpu(name), {}); }

TEST(WhatIf, OriginTileOnAnL4TellsStaticAndOptInApart) {
  const Fit l4 = fit(kOrigin, "L4");
  EXPECT_FALSE(l4.fits);
  EXPECT_EQ(l4.shared_bytes, 0x28000);
  EXPECT_THAT(l4.binds, AllOf(HasSubstr("shared memory: 163840 B (0x28000) a block > 101376 B, the opt-in limit on L4"),
                              HasSubstr("49152 B is the limit of static __shared__ alone, the same on every GPU")));
  EXPECT_TRUE(fit(kOrigin, "A100").fits);
  EXPECT_TRUE(fit(kOrigin, "H100").fits);
}

TEST(WhatIf, EveryReasonIsSaid) {
  EXPECT_THAT(fit(tile_config(DType::kF16, 64, 48, 64, 4), "L4").binds,
              HasSubstr("shape: block_m must be a multiple of 16 rows for each warp"));
  EXPECT_THAT(fit(tile_config(DType::kF16, 64, 1280, 64, 40), "L4").binds, HasSubstr("threads: 1280 a block > 1024"));
  EXPECT_THAT(fit(tile_config(DType::kBF16, 64, 64, 64, 4), "T4").binds,
              HasSubstr("T4 (7.5) has no bf16 tensor cores"));
  EXPECT_THAT(fit(tile_config(DType::kF16, 64, 64, 64, 4), "V100").binds, HasSubstr("V100 (7.0) lacks ldmatrix"));
  EXPECT_THAT(fit(tile_config(DType::kF16, 64, 128, 64, 4), "L4").binds, HasSubstr("(2 blocks per SM)"));
  EXPECT_THAT(fit(tile_config(DType::kF16, 128, 128, 64, 4), "H100").binds, HasSubstr("spills about"));
  EXPECT_THAT(fit(tile_config(DType::kF16, 128, 128, 32, 4), "H100").binds,
              HasSubstr("past 49152 B of static __shared__"));
  for (const int bad : {0, -4}) EXPECT_FALSE(fit(tile_config(DType::kF16, 64, 64, 64, bad), "L4").fits);
}

TEST(WhatIf, AgreesWithThePlanOnEveryVariantAndGpu) {
  const auto images = test::full_catalogue();
  for (const Gpu& g : gpu_table())
    for (const ForwardVariant& variant : forward_variants()) {
      const std::string name = name_of(variant.config);
      const Fit f = what_if(variant.config, problem_of(variant.config), g, images);
      EXPECT_EQ(f.shared_bytes, shared_bytes_of(variant.config));
      EXPECT_FALSE(f.registers_estimated);
      const auto plan = plan_forward(problem_of(variant.config), g, 0, images, {.variant = name});
      if (!plan) continue;  // a variant need not be compiled for that GPU
      EXPECT_TRUE(f.fits) << name << " on " << g.name << ": " << f.binds;
      EXPECT_EQ(f.shared_bytes, plan->kernel_variant().shared_bytes);
      EXPECT_EQ(f.registers, plan->registers);
      EXPECT_EQ(f.threads, plan->kernel_variant().threads);
      EXPECT_EQ(f.blocks_per_sm, plan->model.blocks_per_sm);
      // A what-if is of one part of the keys; the plan cuts them where that is faster.
      if (plan->splits == 1)
        EXPECT_EQ(f.model.microseconds, plan->model.microseconds);
      else
        EXPECT_GT(f.model.microseconds, plan->model.microseconds);
    }
}

TEST(Sweep, ListsWhatFitsFastestFirst) {
  for (const char* name : {"T4", "L4", "H100"}) {
    const auto fits = sweep(test::dense({}), gpu(name), {});
    ASSERT_FALSE(fits.empty());
    for (std::size_t i = 0; i < fits.size(); ++i) {
      EXPECT_TRUE(fits[i].fits);
      EXPECT_LE(fits[i].shared_bytes, gpu(name).shared_bytes_block);
      EXPECT_GE(fits[i].blocks_per_sm, 1);
      EXPECT_TRUE(i == 0 || fits[i - 1].model.microseconds <= fits[i].model.microseconds);
    }
  }
  EXPECT_TRUE(sweep(test::dense({}), gpu("V100"), {}).empty());
  EXPECT_GT(sweep(test::dense({}), gpu("H100"), {}).size(), sweep(test::dense({}), gpu("T4"), {}).size());
}

TEST(Sweep, VariantsOfTheTableKeepTheirName) {
  const ForwardConfig listed = forward_variants()[2].config;
  ForwardConfig same = listed;
  same.min_blocks = 1;
  EXPECT_EQ(variant_or_self(same), listed);
  EXPECT_EQ(variant_or_self(kOrigin), kOrigin);
}

}  // namespace
}  // namespace flashfit
