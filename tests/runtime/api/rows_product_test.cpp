// The experts' grouped product alone: from the C API to its launches, over the fake driver, with images of the test's
// own; and every refusal.
#include <gmock/gmock.h>

#include <functional>

#include "gpu_double.hpp"
#include "kernels/moe/experts/params.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;

/// The caller's memory, and how much of it the call asked for.
struct Space {
  alignas(256) unsigned char bytes[1 << 16];
  std::uint64_t asked = 0;
};
void* give(void* context, std::uint64_t bytes) {
  auto& space = *static_cast<Space*>(context);
  space.asked = bytes;
  return bytes <= sizeof space.bytes ? space.bytes : nullptr;
}

class RowsProductCalls : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.a = &a.dl, args.w = &w.dl, args.offsets = &offsets.dl, args.out = &out.dl, args.stream = this;
    for (Tensor* t : {&a, &w, &offsets, &out}) t->dl.device = {kDLCUDA, 0};
  }
  flashfit_status call() { return flashfit_moe_rows_product(&args, give, &space); }

  const DLDataType bf16 = dl_dtype(DType::kBF16), int32{kDLInt, 32, 1};
  Tensor a{{20, 32}, bf16}, w{{5, 16, 32}, bf16}, offsets{{6}, int32}, out{{20, 16}, bf16};
  Space space;
  flashfit_moe_rows_product_args args{};
};

TEST_F(RowsProductCalls, IsTwoLaunchesOnTheCallersStream) {
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 2u);
  const auto& take = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(launched[0].image->variant->name, "experts_rows_bf16");
  EXPECT_EQ(take.step, ExpertsRowsStep::kTake);
  EXPECT_EQ(take.offsets, offsets.dl.data);
  EXPECT_EQ(take.rows, 20);
  EXPECT_EQ(take.owned, 5);
  const auto& product = launched[1].as<ExpertsProductParams>();
  EXPECT_EQ(launched[1].stream, this);
  EXPECT_EQ(product.a, a.dl.data);
  EXPECT_EQ(product.a_row, 32);
  EXPECT_EQ(product.w, w.dl.data);
  EXPECT_EQ(product.w_expert, 16 * 32);
  EXPECT_EQ(product.w_row, 32);
  EXPECT_EQ(product.out, out.dl.data);
  EXPECT_EQ(product.depth, 32);
  EXPECT_EQ(product.outputs, 16);
  EXPECT_EQ(product.transposed, 0);
  EXPECT_EQ(product.activates, 0);
  EXPECT_GT(space.asked, 0u);
}

TEST_F(RowsProductCalls, TakesTransposedWeightsAWorkspaceAndNoRows) {
  args.flags = FLASHFIT_TRANSPOSED;
  w.shape()[1] = 32, w.shape()[2] = 16, w.strides()[1] = 16;
  args.workspace = space.bytes, args.workspace_bytes = sizeof space.bytes;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.at(1).as<ExpertsProductParams>().transposed, 1);
  EXPECT_EQ(launched.at(1).as<ExpertsProductParams>().outputs, 16);
  EXPECT_EQ(space.asked, 0u);
  for (Tensor* t : {&a, &out}) t->shape()[0] = 0;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.size(), 2u);
}

TEST_F(RowsProductCalls, SaysWhatIsWrong) {
  const flashfit_moe_rows_product_args right = args;
  const auto refused = [&](const char* message, const std::function<void()>& bend) {
    bend();
    EXPECT_EQ(call(), FLASHFIT_INVALID_ARGUMENT) << message;
    EXPECT_THAT(flashfit_last_error(), testing::StartsWith(message));
    args = right;
  };
  refused("args: struct_size is 56; accepted: ", [&] { args.struct_size = 56; });
  refused("flags: 0x4000 is unknown; accepted: FLASHFIT_TRANSPOSED", [&] { args.flags = FLASHFIT_INTERLEAVED; });
  refused("w: NULL; accepted: a tensor [experts, outputs, depth]", [&] { args.w = nullptr; });
  refused("a: shape is (20, 16); accepted: (20, 32)", [&] { args.a = &out.dl; });
  refused("a: shape is (20, 32); accepted: (20, 16)", [&] { args.flags = FLASHFIT_TRANSPOSED; });
  refused("out: shape is (20, 32); accepted: (20, 16)", [&] { args.out = &a.dl; });
  Tensor other{{6}, bf16}, few{{5}, int32}, odd{{5, 16, 36}, bf16}, wide{{20, 16}, dl_dtype(DType::kF32)};
  for (Tensor* t : {&other, &few, &odd, &wide}) t->dl.device = {kDLCUDA, 0};
  refused("offsets: dtype is bf16; accepted: int32", [&] { args.offsets = &other.dl; });
  refused("offsets: shape is (5); accepted: (6)", [&] { args.offsets = &few.dl; });
  refused("w: shape is (5, 16, 36); accepted: 1 to 512 experts, depth and outputs that are multiples of 8",
          [&] { args.w = &odd.dl; });
  refused("out: dtype is fp32; accepted: bf16, as a", [&] { args.out = &wide.dl; });
  Tensor same{{20, 16}, bf16};
  same.dl = a.dl, same.dl.shape = out.dl.shape, same.dl.strides = out.dl.strides;
  refused("out: memory ", [&] { args.out = &same.dl; });
  refused("workspace: ", [&] { args.workspace = space.bytes, args.workspace_bytes = 16; });
  refused("a: device is cpu; accepted: a GPU", [&] { a.dl.device = {kDLCPU, 0}; });
  EXPECT_TRUE(launched.empty());
}

}  // namespace
}  // namespace flashfit::test
