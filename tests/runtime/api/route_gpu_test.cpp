// What of the router reaches a GPU: from the C API to the launch, over the fake driver, with images of the test's own.
#include <gmock/gmock.h>

#include "fake_cuda/fake_cuda.hpp"
#include "gpu_double.hpp"
#include "kernels/moe/route/config.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;
using gpu_double::prepared;

class RouteOnGpu : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    prepared.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.logits = &logits.dl, args.weights = &weights.dl, args.ids = &ids.dl, args.stream = this;
    for (Tensor* t : {&logits, &weights, &ids}) t->dl.device = {kDLCUDA, 0};
  }
  // Rows of 200 logits in an array of 256.
  Tensor logits{{10, 200}, dl_dtype(DType::kBF16), {256, 1}}, weights{{10, 8}, dl_dtype(DType::kF32)},
      ids{{10, 8}, {kDLInt, 32, 1}};
  flashfit_moe_route_args args{};
};

TEST_F(RouteOnGpu, IsOneLaunchOnTheCallersStream) {
  args.flags = FLASHFIT_RENORMALIZE;
  ASSERT_EQ(flashfit_moe_route(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].image->variant->name, "route_warp_bf16_e256_w4");
  EXPECT_EQ(launched[0].stream, this);
  EXPECT_EQ(launched[0].grid, (Grid{.x = 3}));
  const auto& p = launched[0].as<RouteParams>();
  EXPECT_EQ(p.logits, logits.dl.data);
  EXPECT_EQ(p.weights, weights.dl.data);
  EXPECT_EQ(p.ids, ids.dl.data);
  EXPECT_EQ(p.logits_row, 256);
  EXPECT_EQ(p.tokens, 10);
  EXPECT_EQ(p.experts, 200);
  EXPECT_EQ(p.top_k, 8);
  EXPECT_EQ(p.share_of_all, 0);
  EXPECT_TRUE(weights.untouched());
  args.flags = 0;
  ASSERT_EQ(flashfit_moe_route(&args), FLASHFIT_OK);
  EXPECT_EQ(launched.at(1).as<RouteParams>().share_of_all, 1);
}

TEST_F(RouteOnGpu, TakesTheVariantAndPtxThatAreAskedFor) {
  args.variant = "route_warp_bf16_e512_w4";
  args.flags = FLASHFIT_PTX_ONLY;
  ASSERT_EQ(flashfit_moe_route(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.at(0).image->variant->name, args.variant);
  EXPECT_EQ(launched[0].image->target.str(), "8.0+PTX");
  args.variant = "route_warp_bf16_e128_w4";
  EXPECT_EQ(flashfit_moe_route(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("has another dtype or too few experts"));
}

TEST_F(RouteOnGpu, RefusesMoreGroupsThanAWarpHasLanes) {
  args.flags = FLASHFIT_SQRT_SOFTPLUS;
  args.groups = 40, args.groups_kept = 4;
  EXPECT_EQ(flashfit_moe_route(&args), FLASHFIT_MISFIT);
  EXPECT_STREQ(flashfit_last_error(),
               "bf16 routing to 8 of 200 experts: no kernel for GPUs computes more than 32 groups yet; the CPU does");
  EXPECT_TRUE(launched.empty());
  args.groups = 25;
  EXPECT_EQ(flashfit_moe_route(&args), FLASHFIT_OK) << flashfit_last_error();
}

TEST_F(RouteOnGpu, PreparesWithoutALaunch) {
  ASSERT_EQ(flashfit_moe_route_prepare(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(launched.empty());
  ASSERT_EQ(prepared.size(), 1u);
  EXPECT_EQ(prepared[0]->variant->name, "route_warp_bf16_e256_w4");
}

TEST_F(RouteOnGpu, LaunchesNothingWithoutTokens) {
  logits.shape()[0] = weights.shape()[0] = ids.shape()[0] = 0;
  EXPECT_EQ(flashfit_moe_route(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(launched.empty());
}

TEST_F(RouteOnGpu, NamesAGpuThatIsNotThere) {
  for (Tensor* t : {&logits, &weights, &ids}) t->dl.device.device_id = 63;
  EXPECT_EQ(flashfit_moe_route(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("logits: device is cuda:63; accepted: a GPU that is there"));
}

TEST_F(RouteOnGpu, PassesTheLaunchersErrorOn) {
  gpu_double::answer = fail(Code::kCuda, "cuLaunchKernelEx: 700");
  EXPECT_EQ(flashfit_moe_route(&args), FLASHFIT_CUDA);
  EXPECT_STREQ(flashfit_last_error(), "cuLaunchKernelEx: 700");
}

}  // namespace
}  // namespace flashfit::test
