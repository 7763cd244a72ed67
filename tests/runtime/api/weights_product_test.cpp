// The product that gives gradients of experts' weights through the C API, over the fake driver: what it refuses, and
// that a GPU without wgmma gets a misfit once all arguments are right.
#include <gmock/gmock.h>

#include <functional>

#include "gpu_double.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

using gpu_double::launched;

class WeightsProductCalls : public testing::Test {
 protected:
  void SetUp() override {
    launched.clear();
    gpu_double::answer = {};
    args.struct_size = sizeof args;
    args.a = &a.dl, args.b = &b.dl, args.offsets = &offsets.dl, args.out = &out.dl, args.stream = this;
    for (Tensor* t : {&a, &b, &offsets, &out}) t->dl.device = {kDLCUDA, 0};
  }
  flashfit_status call() { return flashfit_moe_weights_product(&args, nullptr, nullptr); }

  const DLDataType bf16 = dl_dtype(DType::kBF16), int32{kDLInt, 32, 1};
  Tensor a{{20, 32}, bf16}, b{{20, 24}, bf16}, offsets{{6}, int32}, out{{5, 32, 24}, bf16};
  flashfit_moe_weights_product_args args{};
};

TEST_F(WeightsProductCalls, AreAMisfitWhereThereIsNoWgmma) {
  EXPECT_EQ(call(), FLASHFIT_MISFIT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("gradients of 5 experts' weights in bf16"));
  for (Tensor* t : {&a, &b}) t->shape()[0] = 0;  // zeros have to be written then, too
  EXPECT_EQ(call(), FLASHFIT_MISFIT);
  EXPECT_TRUE(launched.empty());
}

TEST_F(WeightsProductCalls, SayWhatIsWrong) {
  const flashfit_moe_weights_product_args right = args;
  const auto refused = [&](const char* message, const std::function<void()>& bend) {
    bend();
    EXPECT_EQ(call(), FLASHFIT_INVALID_ARGUMENT) << message;
    EXPECT_THAT(flashfit_last_error(), testing::StartsWith(message));
    args = right;
  };
  refused("args: struct_size is 56; accepted: ", [&] { args.struct_size = 56; });
  refused("flags: 0x2000 is unknown; accepted: FLASHFIT_PTX_ONLY", [&] { args.flags = FLASHFIT_TRANSPOSED; });
  refused("b: NULL; accepted: a tensor [rows, n]", [&] { args.b = nullptr; });
  refused("out: 2 dimensions; accepted: 3", [&] { args.out = &b.dl; });
  refused("a: shape is (20, 24); accepted: (20, 32)", [&] { args.a = &b.dl; });
  refused("b: shape is (20, 32); accepted: (20, 24)", [&] { args.b = &a.dl; });
  Tensor few{{19, 24}, bf16}, none{{5}, int32}, odd{{5, 32, 20}, bf16}, many{{513, 32, 24}, bf16},
      wide{{20, 24}, dl_dtype(DType::kF32)}, floats{{6}, dl_dtype(DType::kF32)};
  for (Tensor* t : {&few, &none, &odd, &many, &wide, &floats}) t->dl.device = {kDLCUDA, 0};
  refused("b: shape is (19, 24); accepted: (20, 24)", [&] { args.b = &few.dl; });
  refused("b: dtype is fp32; accepted: bf16, as a", [&] { args.b = &wide.dl; });
  refused("offsets: dtype is fp32; accepted: int32", [&] { args.offsets = &floats.dl; });
  refused("offsets: shape is (5); accepted: (6)", [&] { args.offsets = &none.dl; });
  refused("out: shape is (5, 32, 20); accepted: 1 to 512 experts, m and n that are multiples of 8",
          [&] { args.out = &odd.dl; });
  refused("out: shape is (513, 32, 24); accepted: 1 to 512 experts", [&] { args.out = &many.dl; });
  Tensor inside{{5, 32, 24}, bf16};
  inside.dl.data = a.dl.data, inside.dl.device = a.dl.device;
  refused("out: memory ", [&] { args.out = &inside.dl; });
  b.strides()[0] = 28;
  refused("b: strides are (28, 1); accepted: 1 at last, else a multiple of 8", [] {});
  out.strides()[0] = 800;
  b.strides()[0] = 24;
  refused("out: strides are (800, 24, 1); accepted: contiguous", [] {});
  a.dl.device = {kDLCPU, 0};
  refused("a: device is cpu; accepted: a GPU", [] {});
  EXPECT_TRUE(launched.empty());
}

}  // namespace
}  // namespace flashfit::test
