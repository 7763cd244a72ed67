// The middle of a backward of experts: from the C API to its launch, over the fake driver, with images of the test's
// own; and every refusal.
#include <gmock/gmock.h>

#include <functional>

#include "gpu_double.hpp"
#include "kernels/moe/experts/gradient/params.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;

class ActivationBackward : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.z = &z.dl, args.dh = &dh.dl, args.choices = &choices.dl, args.topk_weights = &weights.dl;
    args.dz = &dz.dl, args.h = &h.dl, args.dtopk_weights = &dweights.dl, args.stream = this;
    for (Tensor* t : {&z, &dh, &choices, &weights, &dz, &h, &dweights}) t->dl.device = {kDLCUDA, 0};
  }
  const DLDataType bf16 = dl_dtype(DType::kBF16), fp32 = dl_dtype(DType::kF32);
  Tensor z{{20, 32}, bf16}, dh{{20, 16}, bf16}, choices{{20}, {kDLInt, 32, 1}}, weights{{12}, fp32}, dz{{20, 32}, bf16},
      h{{20, 16}, bf16}, dweights{{12}, fp32};
  flashfit_moe_activation_backward_args args{};
};

TEST_F(ActivationBackward, IsOneLaunchOnTheCallersStream) {
  args.flags = FLASHFIT_INTERLEAVED;
  args.alpha = 1.5F, args.shift = 0.5F;
  ASSERT_EQ(flashfit_moe_activation_backward(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].image->variant->name, "activation_gradient_bf16");
  EXPECT_EQ(launched[0].stream, this);
  EXPECT_EQ(launched[0].grid.x, 3);  // 8 rows a block
  const auto& p = launched[0].as<ActivationGradientParams>();
  EXPECT_EQ(p.z, z.dl.data);
  EXPECT_EQ(p.dh, dh.dl.data);
  EXPECT_EQ(p.choices, choices.dl.data);
  EXPECT_EQ(p.weights, weights.dl.data);
  EXPECT_EQ(p.dz, dz.dl.data);
  EXPECT_EQ(p.h, h.dl.data);
  EXPECT_EQ(p.dweights, dweights.dl.data);
  EXPECT_EQ(p.rows, 20);
  EXPECT_EQ(p.features, 16);
  EXPECT_EQ(p.interleaved, 1);
  EXPECT_EQ(p.alpha, 1.5F);
  EXPECT_GT(p.limit, 1e30F);
}

TEST_F(ActivationBackward, WritesHOverDhAndNeedsNoWeights) {
  args.h = &dh.dl;
  args.topk_weights = args.dtopk_weights = nullptr;
  ASSERT_EQ(flashfit_moe_activation_backward(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.at(0).as<ActivationGradientParams>().weights, nullptr);
  EXPECT_EQ(launched.at(0).as<ActivationGradientParams>().dweights, nullptr);
  for (Tensor* t : {&z, &dh, &choices, &dz}) t->shape()[0] = 0;
  ASSERT_EQ(flashfit_moe_activation_backward(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.size(), 1u);
}

TEST_F(ActivationBackward, SaysWhatIsWrong) {
  const flashfit_moe_activation_backward_args right = args;
  const auto refused = [&](const char* message, const std::function<void()>& bend) {
    bend();
    EXPECT_EQ(flashfit_moe_activation_backward(&args), FLASHFIT_INVALID_ARGUMENT) << message;
    EXPECT_THAT(flashfit_last_error(), testing::StartsWith(message));
    args = right;
  };
  refused("args: struct_size is 80; accepted: ", [&] { args.struct_size = 80; });
  refused("flags: 0x2000 is unknown; accepted: FLASHFIT_INTERLEAVED", [&] { args.flags = FLASHFIT_TRANSPOSED; });
  refused("activation: 5; accepted: ", [&] { args.activation = 5; });
  refused("alpha: inf; accepted: finite numbers", [&] { args.alpha = INFINITY; });
  refused("limit: -1; accepted: above 0, or 0 for none", [&] { args.limit = -1; });
  refused("z: NULL; accepted: a tensor [rows, outputs]", [&] { args.z = nullptr; });
  refused("z: shape is (20, 32); accepted: (20, 16)", [&] { args.activation = FLASHFIT_SILU; });
  refused("z: shape is (20, 16); accepted: (20, 64)", [&] { args.dh = &dz.dl, args.z = &dh.dl; });
  refused("dz: memory ", [&] { args.dz = &z.dl; });
  refused("dz: memory ", [&] { args.activation = FLASHFIT_SILU, args.z = &dh.dl, args.dz = &h.dl; });
  refused("topk_weights: dtype is int32; accepted: fp32", [&] { args.topk_weights = &choices.dl; });
  refused("choices: dtype is fp32; accepted: int32", [&] { args.choices = &weights.dl; });
  refused("z: device is cpu; accepted: a GPU", [&] { z.dl.device = {kDLCPU, 0}; });
  EXPECT_TRUE(launched.empty());
}

}  // namespace
}  // namespace flashfit::test
