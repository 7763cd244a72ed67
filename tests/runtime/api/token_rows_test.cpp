// Rows of tokens in the experts' order: from the C API to their launches, over the fake driver, with images of the
// test's own; and every refusal.
#include <gmock/gmock.h>

#include <functional>

#include "gpu_double.hpp"
#include "kernels/moe/experts/params.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;

class TokenRowsCalls : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.tokens = &tokens.dl, args.places = &places.dl, args.rows = &rows.dl, args.stream = this;
    for (Tensor* t : {&tokens, &places, &rows, &weights}) t->dl.device = {kDLCUDA, 0};
  }

  const DLDataType bf16 = dl_dtype(DType::kBF16), fp32 = dl_dtype(DType::kF32), int32{kDLInt, 32, 1};
  Tensor tokens{{20, 32}, bf16}, places{{20, 3}, int32}, rows{{65, 32}, bf16}, weights{{20, 3}, fp32};
  flashfit_moe_rows_args args{};
};

TEST_F(TokenRowsCalls, GatherInOneLaunchOnTheCallersStream) {
  ASSERT_EQ(flashfit_moe_gather_rows(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].image->variant->name, "experts_rows_bf16");
  EXPECT_EQ(launched[0].stream, this);
  EXPECT_EQ(launched[0].grid.x, 20);
  const auto& p = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(p.step, ExpertsRowsStep::kGather);
  EXPECT_EQ(p.x, tokens.dl.data);
  EXPECT_EQ(p.x_row, 32);
  EXPECT_EQ(p.places, places.dl.data);
  EXPECT_EQ(p.gathered, rows.dl.data);
  EXPECT_EQ(p.top_k, 3);
  EXPECT_EQ(p.columns, 32);
}

TEST_F(TokenRowsCalls, AddUpInOneLaunchWeighedOrNot) {
  args.topk_weights = &weights.dl;
  ASSERT_EQ(flashfit_moe_sum_rows(&args), FLASHFIT_OK) << flashfit_last_error();
  args.topk_weights = nullptr;
  ASSERT_EQ(flashfit_moe_sum_rows(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 2u);
  EXPECT_EQ(launched[0].grid.x, 20);
  const auto& p = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(p.step, ExpertsRowsStep::kSum);
  EXPECT_EQ(p.weights, weights.dl.data);
  EXPECT_EQ(p.y, rows.dl.data);
  EXPECT_EQ(p.places, places.dl.data);
  EXPECT_EQ(p.out, tokens.dl.data);
  EXPECT_EQ(p.out_row, 32);
  EXPECT_EQ(p.top_k, 3);
  EXPECT_EQ(p.columns, 32);
  EXPECT_EQ(launched[1].as<ExpertsRowsParams>().weights, nullptr);
}

TEST_F(TokenRowsCalls, NoTokensAreNoLaunch) {
  for (Tensor* t : {&tokens, &places}) t->shape()[0] = 0;
  ASSERT_EQ(flashfit_moe_gather_rows(&args), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(flashfit_moe_sum_rows(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(launched.empty());
}

TEST_F(TokenRowsCalls, GatherFromOneRowThatStandsForAllButDoNotAddUpThere) {
  tokens.strides()[0] = 0;
  ASSERT_EQ(flashfit_moe_gather_rows(&args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(launched.at(0).as<ExpertsRowsParams>().x_row, 0);
  EXPECT_EQ(flashfit_moe_sum_rows(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("tokens: strides are (0, 1); accepted: those of rows with"));
}

TEST_F(TokenRowsCalls, SayWhatIsWrong) {
  const flashfit_moe_rows_args right = args;
  const auto refused = [&](const char* message, const std::function<void()>& bend) {
    bend();
    EXPECT_EQ(flashfit_moe_sum_rows(&args), FLASHFIT_INVALID_ARGUMENT) << message;
    EXPECT_THAT(flashfit_last_error(), testing::StartsWith(message));
    args = right;
  };
  refused("args: struct_size is 40; accepted: ", [&] { args.struct_size = 40; });
  refused("flags: 0x2000 is unknown; accepted: FLASHFIT_PTX_ONLY", [&] { args.flags = FLASHFIT_TRANSPOSED; });
  refused("places: NULL; accepted: a tensor [tokens, top_k]", [&] { args.places = nullptr; });
  refused("places: dtype is fp32; accepted: int32", [&] { args.places = &weights.dl; });
  refused("topk_weights: dtype is int32; accepted: fp32", [&] { args.topk_weights = &places.dl; });
  Tensor odd{{20, 36}, bf16}, few{{19, 3}, int32}, none{{20, 0}, int32}, wide{{65, 32}, fp32}, narrow{{65, 24}, bf16},
      fewer{{20, 2}, fp32};
  for (Tensor* t : {&odd, &few, &none, &wide, &narrow, &fewer}) t->dl.device = {kDLCUDA, 0};
  refused("tokens: shape is (20, 36); accepted: columns that are a multiple of 8", [&] { args.tokens = &odd.dl; });
  refused("places: shape is (19, 3); accepted: (20, 3)", [&] { args.places = &few.dl; });
  refused("places: shape is (20, 0); accepted: top_k of 1 and more", [&] { args.places = &none.dl; });
  refused("rows: dtype is fp32; accepted: bf16, as tokens", [&] { args.rows = &wide.dl; });
  refused("rows: shape is (65, 24); accepted: (65, 32)", [&] { args.rows = &narrow.dl; });
  refused("topk_weights: shape is (20, 2); accepted: (20, 3)", [&] { args.topk_weights = &fewer.dl; });
  refused("tokens: memory ", [&] { args.rows = &tokens.dl; });
  args.topk_weights = &weights.dl;
  EXPECT_EQ(flashfit_moe_gather_rows(&args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "topk_weights: given; accepted: NULL, gathering weighs nothing");
  args = right;
  rows.strides()[0] = 40;
  refused("rows: strides are (40, 1); accepted: contiguous", [] {});
  tokens.strides()[0] = 36;
  refused("tokens: strides are (36, 1); accepted: 1 at last, else a multiple of 8", [] {});
  tokens.dl.device = {kDLCPU, 0};
  refused("tokens: device is cpu; accepted: a GPU", [] {});
  EXPECT_TRUE(launched.empty());
}

}  // namespace
}  // namespace flashfit::test
