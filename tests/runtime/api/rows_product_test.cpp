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
    for (Tensor* t : {&a, &w, &offsets, &out, &places, &sums, &weights}) t->dl.device = {kDLCUDA, 0};
  }
  flashfit_status call() { return flashfit_moe_rows_product(&args, give, &space); }

  const DLDataType bf16 = dl_dtype(DType::kBF16), int32{kDLInt, 32, 1};
  Tensor a{{20, 32}, bf16}, w{{5, 16, 32}, bf16}, offsets{{6}, int32}, out{{20, 16}, bf16};
  Tensor places{{9, 2}, int32}, sums{{9, 16}, bf16}, weights{{9, 2}, dl_dtype(DType::kF32)};
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
  EXPECT_EQ(take.here.owned, 5);
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

TEST_F(RowsProductCalls, AddsUpAfterwards) {
  args.places = &places.dl, args.sums = &sums.dl, args.topk_weights = &weights.dl;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 3u);
  EXPECT_EQ(launched[0].as<ExpertsRowsParams>().step, ExpertsRowsStep::kTake);
  EXPECT_EQ(launched[1].as<ExpertsProductParams>().a, a.dl.data);
  const auto& sum = launched[2].as<ExpertsRowsParams>();
  EXPECT_EQ(sum.step, ExpertsRowsStep::kSum);
  EXPECT_EQ(launched[2].stream, this);
  EXPECT_EQ(launched[2].grid.x, 9);
  EXPECT_EQ(sum.y, out.dl.data);
  EXPECT_EQ(sum.places, places.dl.data);
  EXPECT_EQ(sum.weights, weights.dl.data);
  EXPECT_EQ(sum.out, sums.dl.data);
  EXPECT_EQ(sum.out_row, 16);
  EXPECT_EQ(sum.columns, 16);
}

TEST_F(RowsProductCalls, AddsUpNoRowsToZeros) {
  args.places = &places.dl, args.sums = &sums.dl;
  for (Tensor* t : {&a, &out}) t->shape()[0] = 0;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].as<ExpertsRowsParams>().step, ExpertsRowsStep::kSum);
  EXPECT_EQ(launched[0].as<ExpertsRowsParams>().weights, nullptr);
  for (Tensor* t : {&places, &sums}) t->shape()[0] = 0;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.size(), 1u);
}

TEST_F(RowsProductCalls, TakesCallersOfBeforeItAddedUp) {
  args.struct_size = 64;
  args.sums = &sums.dl, args.topk_weights = &weights.dl;  // behind what such a caller has
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.size(), 2u);
}

TEST_F(RowsProductCalls, SaysWhatIsWrongOfWhatItAddsUp) {
  const auto all = [&] { args.places = &places.dl, args.sums = &sums.dl, args.topk_weights = &weights.dl; };
  const auto refused = [&](const char* message, const std::function<void()>& bend) {
    all();
    bend();
    EXPECT_EQ(call(), FLASHFIT_INVALID_ARGUMENT) << message;
    EXPECT_THAT(flashfit_last_error(), testing::StartsWith(message));
  };
  refused("places: NULL; accepted: a tensor [tokens, top_k]", [&] { args.places = nullptr; });
  refused("topk_weights: given; accepted: NULL without sums", [&] { args.places = nullptr, args.sums = nullptr; });
  refused("places: given; accepted: NULL without sums", [&] { args.sums = nullptr; });
  Tensor few{{8, 2}, dl_dtype(DType::kF32)}, none{{9, 0}, int32}, narrow{{9, 8}, bf16}, wide{{9, 16}, int32};
  for (Tensor* t : {&few, &none, &narrow, &wide}) t->dl.device = {kDLCUDA, 0};
  refused("topk_weights: shape is (8, 2); accepted: (9, 2)", [&] { args.topk_weights = &few.dl; });
  refused("places: shape is (9, 0); accepted: top_k of 1 and more", [&] { args.places = &none.dl; });
  refused("sums: shape is (9, 8); accepted: (9, 16)", [&] { args.sums = &narrow.dl; });
  refused("sums: dtype is int32; accepted: bf16, as a", [&] { args.sums = &wide.dl; });
  refused("topk_weights: dtype is int32; accepted: fp32", [&] { args.topk_weights = &places.dl; });
  refused("places: dtype is fp32; accepted: int32", [&] { args.places = &weights.dl; });
  refused("places: 1 dimensions; accepted: 2, [tokens, top_k]", [&] { args.places = &offsets.dl; });
  Tensor same{{9, 16}, bf16};
  same.dl = out.dl, same.dl.shape = sums.dl.shape, same.dl.strides = sums.dl.strides;
  refused("out: memory ", [&] { args.sums = &same.dl; });
  sums.strides()[0] = 8;
  refused("sums: strides are (8, 1); accepted: those of rows with memory of their own", [] {});
  sums.strides()[0] = 20;
  refused("sums: strides are (20, 1); accepted: 1 at last, others multiples of 8", [] {});
  sums.strides()[0] = 16, places.strides()[0] = 3;
  refused("places: strides are (3, 1); accepted: contiguous", [] {});
  EXPECT_TRUE(launched.empty());
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
