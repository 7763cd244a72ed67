// The router's plan: pure, so that every GPU of the table is tried.
#include "kernels/moe/route/plan.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/every_image.hpp"
#include "runtime/images/catalogue.hpp"

namespace flashfit {
namespace {

using ::testing::HasSubstr;

std::vector<Image> images() {
  return test::every_image(catalogue(), [](const KernelVariant&) { return 40; });
}

RouteProblem problem(int experts, int top_k = 1, std::int64_t tokens = 100, DType dtype = DType::kBF16) {
  return {.dtype = dtype, .tokens = tokens, .experts = experts, .top_k = top_k};
}

TEST(RoutePlan, FitsEveryGpuOfTheTable) {
  const auto carried = images();
  for (const Gpu& gpu : gpu_table()) {
    const auto plan = plan_route(problem(128, 8), gpu, 0, carried);
    if (gpu.cc < ComputeCapability{7, 5}) {
      ASSERT_FALSE(plan) << gpu.name;
      EXPECT_EQ(plan.error().code, Code::kMisfit);
      EXPECT_THAT(plan.error().message, HasSubstr("is older than every image of bf16 routing to 8 of 128 experts"));
      continue;
    }
    ASSERT_TRUE(plan) << gpu.name << ": " << plan.error().message;
    EXPECT_EQ(plan->kernel_variant().name, "route_warp_bf16_e128_w4");
    EXPECT_EQ(plan->steps.size(), 1u);
    EXPECT_EQ(plan->steps[0].grid, (Grid{.x = 25}));
  }
}

TEST(RoutePlan, TakesTheSmallestRowWithRoomForTheExperts) {
  const auto carried = images();
  const Gpu gpu = find_gpu("H200").value();
  for (const auto& [experts, padded] :
       {std::pair{1, 128}, {128, 128}, {129, 256}, {256, 256}, {257, 512}, {512, 512}}) {
    const auto plan = plan_route(problem(experts), gpu, 0, carried);
    ASSERT_TRUE(plan) << plan.error().message;
    EXPECT_EQ(plan->variant->config.experts, padded) << experts;
    EXPECT_EQ(plan->image().target.str(), "9.0");
  }
}

TEST(RoutePlan, LaunchesNothingWithoutTokens) {
  const auto carried = images();
  const auto plan = plan_route(problem(8, 2, 0), find_gpu("L4").value(), 0, carried);
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->steps[0].grid.x, 0);
}

TEST(RoutePlan, SaysWhatBinds) {
  const auto carried = images();
  const Gpu l4 = find_gpu("L4").value();
  const auto old_driver = plan_route(problem(8), l4, 11080, carried);
  ASSERT_FALSE(old_driver);
  EXPECT_THAT(old_driver.error().message, HasSubstr("driver: CUDA 11.8 is too old"));
  const auto nothing = plan_route(problem(8), l4, 0, {});
  ASSERT_FALSE(nothing);
  EXPECT_THAT(nothing.error().message, HasSubstr("carries no image for it"));
  const auto unknown = plan_route(problem(8), l4, 0, carried, {.variant = "nothing"});
  ASSERT_FALSE(unknown);
  EXPECT_EQ(unknown.error().code, Code::kInvalidArgument);
  EXPECT_THAT(unknown.error().message, HasSubstr("variant nothing is no variant of the router; for bf16 routing to "
                                                 "1 of 8 experts: route_warp_bf16_e128_w4, "));
  const auto narrow = plan_route(problem(300), l4, 0, carried, {.variant = "route_warp_bf16_e128_w4"});
  ASSERT_FALSE(narrow);
  EXPECT_THAT(narrow.error().message, HasSubstr("has another dtype or too few experts"));
}

TEST(RoutePlan, ForcesARowOrPtx) {
  const auto carried = images();
  const Gpu gpu = find_gpu("A100").value();
  const auto wide = plan_route(problem(8), gpu, 0, carried, {.variant = "route_warp_bf16_e512_w4"});
  ASSERT_TRUE(wide);
  EXPECT_EQ(wide->variant->config.experts, 512);
  const auto ptx = plan_route(problem(8), gpu, 0, carried, {.ptx_only = true});
  ASSERT_TRUE(ptx);
  EXPECT_EQ(ptx->image().target.str(), "7.5+PTX");
}

TEST(RoutePlan, IsExplained) {
  const auto carried = images();
  JsonText json;
  const Gpu gpu = find_gpu("L4").value();
  write_explanation(json, plan_route(problem(128, 8), gpu, 0, carried), problem(128, 8), gpu);
  EXPECT_EQ(
      json.take().value(),
      R"({"gpu":"L4","compute_capability":"8.9","fits":true,"operation":"moe.route","family":"warp",)"
      R"("variant":"route_warp_bf16_e128_w4","target":"8.9","registers_per_thread":40,"shared_memory_bytes":4,)"
      R"("threads":128,"grid":25,"workspace_bytes":0,"reason":"machine code runs on 8.9; a warp a token, 4 logits a )"
      R"(lane; the smallest variant that has room for 128"})");
}

TEST(RoutePlan, RenormalizedSharesAreThoseOfTheChosen) {
  RouteProblem p = problem(8, 2);
  p.renormalize = false;
  EXPECT_TRUE(p.share_of_all());
  p.renormalize = true;
  EXPECT_FALSE(p.share_of_all());
  p.router = Router::kTopKSoftmax;
  p.renormalize = false;
  EXPECT_FALSE(p.share_of_all());
}

}  // namespace
}  // namespace flashfit
