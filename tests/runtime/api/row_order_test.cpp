// The order of a backward's rows: from the C API to its launches, over the fake driver, with images of the test's own;
// and every refusal.
#include <gmock/gmock.h>

#include <functional>

#include "gpu_double.hpp"
#include "kernels/moe/experts/params.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;

struct Space {
  alignas(256) unsigned char bytes[1 << 10];
  std::uint64_t asked = 0;
};
void* give(void* context, std::uint64_t bytes) {
  auto& space = *static_cast<Space*>(context);
  space.asked = bytes;
  return bytes <= sizeof space.bytes ? space.bytes : nullptr;
}

class RowOrderCalls : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.topk_ids = &ids.dl, args.places = &places.dl, args.choices = &choices.dl, args.offsets = &offsets.dl;
    args.experts_low = 3, args.stream = this;
    for (Tensor* t : {&ids, &places, &choices, &offsets}) t->dl.device = {kDLCUDA, 0};
  }
  flashfit_status call() { return flashfit_moe_sort_rows(&args, give, &space); }

  const DLDataType int32{kDLInt, 32, 1};
  Tensor ids{{20, 3}, int32}, places{{20, 3}, int32}, choices{{65}, int32}, offsets{{6}, int32};
  Space space;
  flashfit_moe_sort_rows_args args{};
};

TEST_F(RowOrderCalls, IsOneLaunchOfFewChoices) {
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].image->variant->name, "experts_rows_fp16");
  EXPECT_EQ(launched[0].stream, this);
  EXPECT_EQ(launched[0].grid.x, 1);
  const auto& p = launched[0].as<ExpertsRowsParams>();
  EXPECT_EQ(p.step, ExpertsRowsStep::kSort);
  EXPECT_EQ(p.ids, ids.dl.data);
  EXPECT_EQ(p.rows, 60);
  EXPECT_EQ(p.here.low, 3);
  EXPECT_EQ(p.here.owned, 5);
  EXPECT_EQ(p.places, places.dl.data);
  EXPECT_EQ(p.choices, choices.dl.data);
  EXPECT_EQ(p.begins, offsets.dl.data);
  EXPECT_EQ(space.asked, 0u);
}

TEST_F(RowOrderCalls, CountsManyChoicesBefore) {
  Tensor many_ids{{1000, 3}, int32}, many_places{{1000, 3}, int32}, many_rows{{3005}, int32};
  for (Tensor* t : {&many_ids, &many_places, &many_rows}) t->dl.device = {kDLCUDA, 0};
  args.topk_ids = &many_ids.dl, args.places = &many_places.dl, args.choices = &many_rows.dl;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 2u);
  EXPECT_EQ(launched[0].as<ExpertsRowsParams>().step, ExpertsRowsStep::kCount);
  EXPECT_EQ(launched[0].as<ExpertsRowsParams>().counts, static_cast<void*>(space.bytes));
  EXPECT_EQ(launched[1].as<ExpertsRowsParams>().step, ExpertsRowsStep::kSort);
  EXPECT_EQ(launched[1].as<ExpertsRowsParams>().chunks, 2);
  EXPECT_EQ(launched[1].grid.x, 2);
  EXPECT_EQ(space.asked, 2u * 5 * 4);
}

TEST_F(RowOrderCalls, WritesWhereExpertsBeginWithoutTokensToo) {
  ids.shape()[0] = places.shape()[0] = 0, choices.shape()[0] = 5;
  ASSERT_EQ(call(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(launched.size(), 1u);
  EXPECT_EQ(launched[0].as<ExpertsRowsParams>().rows, 0);
}

TEST_F(RowOrderCalls, SaysWhatIsWrong) {
  const flashfit_moe_sort_rows_args right = args;
  const auto refused = [&](const char* message, const std::function<void()>& bend) {
    bend();
    EXPECT_EQ(call(), FLASHFIT_INVALID_ARGUMENT) << message;
    EXPECT_THAT(flashfit_last_error(), testing::StartsWith(message));
    args = right;
  };
  refused("args: struct_size is 64; accepted: ", [&] { args.struct_size = 64; });
  refused("flags: 0x2000 is unknown; accepted: FLASHFIT_PTX_ONLY", [&] { args.flags = FLASHFIT_TRANSPOSED; });
  refused("topk_ids: NULL; accepted: a tensor [tokens, top_k]", [&] { args.topk_ids = nullptr; });
  refused("choices: NULL; accepted: a tensor [tokens * top_k + experts]", [&] { args.choices = nullptr; });
  Tensor floats{{20, 3}, dl_dtype(DType::kF32)}, few{{19, 3}, int32}, none{{20, 0}, int32}, one{{1}, int32},
      many{{514}, int32};
  for (Tensor* t : {&floats, &few, &none, &one, &many}) t->dl.device = {kDLCUDA, 0};
  refused("topk_ids: dtype is fp32; accepted: int32", [&] { args.topk_ids = &floats.dl; });
  refused("places: shape is (19, 3); accepted: (20, 3)", [&] { args.places = &few.dl; });
  refused("topk_ids: shape is (20, 0); accepted: top_k of 1 and more", [&] { args.topk_ids = &none.dl; });
  refused("choices: shape is (514); accepted: (65)", [&] { args.choices = &many.dl; });
  refused("offsets: shape is (1); accepted: 2 to 513", [&] { args.offsets = &one.dl; });
  refused("offsets: shape is (514); accepted: 2 to 513", [&] { args.offsets = &many.dl; });
  refused("experts_low: -1; accepted: 0 and more", [&] { args.experts_low = -1; });
  refused("reserved: 1; accepted: 0", [&] { args.reserved = 1; });
  refused("places: memory ", [&] { args.places = &ids.dl; });
  places.strides()[0] = 4;
  refused("places: strides are (4, 1); accepted: contiguous", [] {});
  places.strides()[0] = 3;
  ids.dl.device = {kDLCPU, 0};
  refused("topk_ids: device is cpu; accepted: a GPU", [] {});
  EXPECT_TRUE(launched.empty());
}

}  // namespace
}  // namespace flashfit::test
