// Every wrong argument: the status, the exact words, and that nothing was written.
#include <gmock/gmock.h>
#include <sys/mman.h>
#include <unistd.h>

#include <array>
#include <limits>

#include "runtime/api/attention/tensor_check.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

struct Wrong {
  const char* name;
  std::function<void(Call&)> bend;
  const char* message;
  bool ragged = false;
};

void PrintTo(const Wrong& w, std::ostream* os) { *os << w.name; }

class Refused : public testing::TestWithParam<Wrong> {};

/// Runs the call only if the check refuses it: were the check broken, a backend would follow sizes and strides that the
/// test bent past its tensors, and the test would corrupt memory instead of failing.
flashfit_status run_if_refused(Call& c) {
  if (api::check_forward(&c.args)) {
    ADD_FAILURE() << "accepted";
    return FLASHFIT_OK;
  }
  return c.run();
}

TEST_P(Refused, SaysWhyAndWritesNothing) {
  Call c = GetParam().ragged ? Call::ragged({0, 2, 6}, {0, 3, 7}) : Call::dense();
  GetParam().bend(c);
  ASSERT_EQ(run_if_refused(c), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::StrEq(GetParam().message));
  EXPECT_TRUE(c.out->untouched());
  EXPECT_TRUE(c.lse->untouched());
}

DLDataType float64() { return {kDLFloat, 64, 1}; }

const Wrong kWrong[] = {
    {"StructSizeZero", [](Call& c) { c.args.struct_size = 0; },
     "args: struct_size is 0; accepted: sizeof of the struct, 160 in this version"},
    {"StructSizeSmall", [](Call& c) { c.args.struct_size = 80; },
     "args: struct_size is 80; accepted: sizeof of the struct, 160 in this version"},
    {"StructSizeGarbage", [](Call& c) { c.args.struct_size = 0xdeadbeef; },
     "args: struct_size is 3735928559; accepted: sizeof of the struct, 160 in this version"},
    {"Reserved", [](Call& c) { c.args.reserved = 7; }, "args: reserved is 7; accepted: 0"},
    {"Flags", [](Call& c) { c.args.flags = FLASHFIT_CAUSAL | FLASHFIT_ALIBI; },
     "flags: 0x40 is unknown; accepted: FLASHFIT_CAUSAL (0x1), FLASHFIT_PTX_ONLY (0x2), FLASHFIT_WINDOW (0x8), "
     "FLASHFIT_BATCH_INVARIANT (0x10)"},
    {"QNull", [](Call& c) { c.args.q = nullptr; }, "q: NULL; accepted: a tensor [batch, seqlen, heads, head_dim]"},
    {"KNull", [](Call& c) { c.args.k = nullptr; }, "k: NULL; accepted: a tensor [batch, seqlen, heads, head_dim]"},
    {"VNull", [](Call& c) { c.args.v = nullptr; }, "v: NULL; accepted: a tensor [batch, seqlen, heads, head_dim]"},
    {"OutNull", [](Call& c) { c.args.out = nullptr; },
     "out: NULL; accepted: a tensor [batch, seqlen, heads, head_dim]"},
    {"DataNull", [](Call& c) { c.v->dl.data = nullptr; },
     "v: data is NULL with shape (2, 5, 2, 8); accepted: memory that holds the tensor"},
    {"ShapeNull", [](Call& c) { c.q->dl.shape = nullptr; },
     "q: shape is NULL; accepted: 4 sizes, [batch, seqlen, heads, head_dim]"},
    {"Dimensions", [](Call& c) { c.k->dl.ndim = 3; }, "k: 3 dimensions; accepted: 4, [batch, seqlen, heads, head_dim]"},
    {"ManyDimensions", [](Call& c) { c.k->dl.ndim = 64; },
     "k: 64 dimensions; accepted: 4, [batch, seqlen, heads, head_dim]"},
    {"NegativeSize", [](Call& c) { c.q->shape()[1] = -3; },
     "q: shape is (2, -3, 4, 8); accepted: sizes from 0 to 2147418112"},
    {"HugeSize", [](Call& c) { c.k->shape()[1] = 1ll << 31; },
     "k: shape is (2, 2147483648, 2, 8); accepted: sizes from 0 to 2147418112"},
    {"HugeCount",
     [](Call& c) {
       c.q->shape() = {1 << 30, 1 << 30, 8, 8};
       c.q->strides() = {0, 0, 0, 1};
     },
     "q: shape (1073741824, 1073741824, 8, 8) has more elements than 64 bits count"},
    {"HugeExtent", [](Call& c) { c.v->strides()[0] = std::numeric_limits<std::int64_t>::max(); },
     "v: shape (2, 5, 2, 8) with strides (9223372036854775807, 16, 8, 1) and byte_offset 0 leaves the address space"},
    {"HugeOffset", [](Call& c) { c.v->dl.byte_offset = std::numeric_limits<std::uint64_t>::max(); },
     "v: shape (2, 5, 2, 8) with strides (80, 16, 8, 1) and byte_offset 18446744073709551615 leaves the address space"},
    {"DeviceOther", [](Call& c) { c.q->dl.device = {kDLROCM, 0}; },
     "q: device is DLPack device type 10; accepted: cpu, cuda"},
    {"DevicesMixed", [](Call& c) { c.v->dl.device = {kDLCUDA, 1}; }, "v: device is cuda:1; accepted: cpu, where q is"},
    {"GpusMixed", [](Call& c) { c.pretend_gpu(1), c.out->dl.device.device_id = 0; },
     "out: device is cuda:0; accepted: cuda:1, where q is"},
    {"LseElsewhere", [](Call& c) { c.pretend_gpu(), c.lse->dl.device = {kDLCPU, 0}; },
     "lse: device is cpu; accepted: cuda:0, where q is"},
    {"Lanes", [](Call& c) { c.q->dl.dtype.lanes = 4; }, "q: dtype is fp16x4; accepted: whole bytes, one lane"},
    {"NoBits", [](Call& c) { c.q->dl.dtype.bits = 0; }, "q: dtype is fp0; accepted: whole bytes, one lane"},
    {"Float64", [](Call& c) { c.q->dl.dtype = float64(); },
     "q: dtype is fp64 on cpu; accepted: fp16, bf16, on the CPU also fp32"},
    {"Integers", [](Call& c) { c.q->dl.dtype = {kDLInt, 16, 1}; },
     "q: dtype is int16 on cpu; accepted: fp16, bf16, on the CPU also fp32"},
    {"Float32OnGpu", [](Call& c) { c = Call::dense(DType::kF32), c.pretend_gpu(); },
     "q: dtype is fp32 on cuda:0; accepted: fp16, bf16, on the CPU also fp32"},
    {"DtypesMixed", [](Call& c) { c.k->dl.dtype = dl_dtype(DType::kBF16); }, "k: dtype is bf16; accepted: fp16, as q"},
    {"OutDtype", [](Call& c) { c.out->dl.dtype = {kDLUInt, 16, 1}; }, "out: dtype is uint16; accepted: fp16, as q"},
    {"LseDtype", [](Call& c) { c.lse->dl.dtype = dl_dtype(DType::kF16); }, "lse: dtype is fp16; accepted: fp32"},
    {"NoHeadDim", [](Call& c) { c.q->shape()[3] = 0; }, "q: shape is (2, 3, 4, 0); accepted: head_dim from 1"},
    {"KHeadDim", [](Call& c) { c.k->shape()[3] = 4; }, "k: shape is (2, 5, 2, 4); accepted: head_dim 8, as q"},
    {"KBatch", [](Call& c) { c.k->shape()[0] = 1; }, "k: shape is (1, 5, 2, 8); accepted: batch 2, as q"},
    {"Heads", [](Call& c) { c.k->shape()[2] = 3, c.k->strides() = {120, 24, 8, 1}; },
     "k: 3 heads; accepted: a divisor of q's 4"},
    {"NoKeyHeads", [](Call& c) { c.k->shape()[2] = 0; }, "k: 0 heads; accepted: a divisor of q's 4"},
    {"VShape", [](Call& c) { c.v->shape()[1] = 4; }, "v: shape is (2, 4, 2, 8); accepted: (2, 5, 2, 8), as k"},
    {"OutShape", [](Call& c) { c.out->shape()[1] = 2; }, "out: shape is (2, 2, 4, 8); accepted: (2, 3, 4, 8), as q"},
    {"LseShape", [](Call& c) { c.lse->shape() = {2, 3, 4}; },
     "lse: shape is (2, 3, 4); accepted: (2, 4, 3), [batch, heads, seqlen]"},
    {"LastStride", [](Call& c) { c.q->strides() = {48, 16, 4, 2}; },
     "q: strides are (48, 16, 4, 2); accepted: 1 in the last dimension"},
    {"NegativeStride", [](Call& c) { c.k->strides()[1] = -16; }, "k: strides are (80, -16, 8, 1); accepted: 0 or more"},
    {"OutBroadcast", [](Call& c) { c.out->strides()[0] = 0; },
     "out: shape (2, 3, 4, 8) with strides (0, 32, 8, 1) steps into itself; accepted: each stride past all that "
     "smaller ones span"},
    {"OutOverlapsItself", [](Call& c) { c.out->strides()[1] = 24; },
     "out: shape (2, 3, 4, 8) with strides (96, 24, 8, 1) steps into itself; accepted: each stride past all that "
     "smaller ones span"},
    // Rows at 0, 64, 128 and 96, 160, 224: none on another, but dimensions reach into each other.
    {"OutInterleaved", [](Call& c) { c.out->strides() = {96, 64, 8, 1}; },
     "out: shape (2, 3, 4, 8) with strides (96, 64, 8, 1) steps into itself; accepted: each stride past all that "
     "smaller ones span"},
    {"LseStrides", [](Call& c) { c.lse->strides() = {12, 1, 4}; }, "lse: strides are (12, 1, 4); accepted: contiguous"},
    {"ScaleNegative", [](Call& c) { c.args.softmax_scale = -1; },
     "softmax_scale: -1; accepted: above 0 and finite, or 0 for 1 / sqrt(head_dim)"},
    {"ScaleNaN", [](Call& c) { c.args.softmax_scale = std::nanf(""); },
     "softmax_scale: nan; accepted: above 0 and finite, or 0 for 1 / sqrt(head_dim)"},
    {"ScaleInfinite", [](Call& c) { c.args.softmax_scale = INFINITY; },
     "softmax_scale: inf; accepted: above 0 and finite, or 0 for 1 / sqrt(head_dim)"},
    {"VariantOnCpu", [](Call& c) { c.args.variant = "fwd"; },
     "variant: \"fwd\" with tensors on the CPU; accepted there: NULL"},
    {"OneCuSeqlens", [](Call& c) { c.args.cu_seqlens_k = nullptr; },
     "cu_seqlens_k: NULL while the other is given; accepted: cu_seqlens_q and cu_seqlens_k, or neither", true},
    {"OtherCuSeqlens", [](Call& c) { c.args.cu_seqlens_q = nullptr; },
     "cu_seqlens_q: NULL while the other is given; accepted: cu_seqlens_q and cu_seqlens_k, or neither", true},
    {"RaggedDimensions", [](Call& c) { c.q->dl.ndim = 4; },
     "q: 4 dimensions; accepted: 3, [total, heads, head_dim] with cu_seqlens", true},
    {"CuDimensions", [](Call& c) { c.cu_q->dl.ndim = 2; }, "cu_seqlens_q: 2 dimensions; accepted: 1, [batch + 1]",
     true},
    {"CuDtype", [](Call& c) { c.cu_k->dl.dtype = {kDLInt, 64, 1}; }, "cu_seqlens_k: dtype is int64; accepted: int32",
     true},
    {"CuUnsigned", [](Call& c) { c.cu_q->dl.dtype = {kDLUInt, 32, 1}; },
     "cu_seqlens_q: dtype is uint32; accepted: int32", true},
    {"CuEmpty", [](Call& c) { c.cu_q->shape()[0] = 0; }, "cu_seqlens_q: shape is (0); accepted: (batch + 1)", true},
    {"CuSizes", [](Call& c) { c.cu_k->shape()[0] = 2; }, "cu_seqlens_k: shape is (2); accepted: (3), as cu_seqlens_q",
     true},
    {"CuStrides", [](Call& c) { c.cu_q->strides()[0] = 2; }, "cu_seqlens_q: strides are (2); accepted: contiguous",
     true},
    {"CuStart", [](Call& c) { c.cu_q->as<int>()[0] = 1; }, "cu_seqlens_q: starts with 1; accepted: 0", true},
    {"CuFalls", [](Call& c) { c.cu_k->as<int>()[1] = 8; },
     "cu_seqlens_k: 7 follows 8 at [2]; accepted: values that never fall", true},
    {"CuNegative", [](Call& c) { c.cu_q->as<int>()[1] = -2; },
     "cu_seqlens_q: -2 follows 0 at [1]; accepted: values that never fall", true},
    {"CuEnd", [](Call& c) { c.cu_k->as<int>()[2] = 6; }, "cu_seqlens_k: ends with 6; accepted: 7, the rows of k", true},
    {"CuPastEnd", [](Call& c) { c.cu_q->as<int>()[2] = 600; },
     "cu_seqlens_q: ends with 600; accepted: 6, the rows of q", true},
    {"RaggedLseShape", [](Call& c) { c.lse->shape() = {6, 4}; },
     "lse: shape is (6, 4); accepted: (4, 6), [heads, total]", true},
    {"Reserved2", [](Call& c) { c.args.reserved_2 = 3; }, "args: reserved_2 is 3; accepted: 0"},
    {"NoHeadDimOfV", [](Call& c) { c.v->shape()[3] = 0; }, "v: shape is (2, 5, 2, 0); accepted: head_dim from 1"},
    {"OutHeadDim", [](Call& c) { c.v->shape()[3] = 4; },
     "out: shape is (2, 3, 4, 8); accepted: (2, 3, 4, 4), as q with v's head_dim"},
    {"WindowWithoutFlag", [](Call& c) { c.args.window_left = 5; },
     "window_left: 5 without FLASHFIT_WINDOW in flags; accepted: 0, or the flag"},
    {"WindowRightWithoutFlag", [](Call& c) { c.args.window_right = -1; },
     "window_right: -1 without FLASHFIT_WINDOW in flags; accepted: 0, or the flag"},
    {"WindowNegative", [](Call& c) { c.args.flags = FLASHFIT_WINDOW, c.args.window_left = -2; },
     "window_left: -2; accepted: 0 or more, or -1 for no limit"},
    {"WindowRightNegative",
     [](Call& c) { c.args.flags = FLASHFIT_WINDOW, c.args.window_right = std::numeric_limits<std::int64_t>::min(); },
     "window_right: -9223372036854775808; accepted: 0 or more, or -1 for no limit"},
    {"SoftcapNegative", [](Call& c) { c.args.softcap = -30; },
     "softcap: -30; accepted: above 0 and finite, or 0 for none"},
    {"SoftcapNaN", [](Call& c) { c.args.softcap = std::nanf(""); },
     "softcap: nan; accepted: above 0 and finite, or 0 for none"},
    {"SoftcapInfinite", [](Call& c) { c.args.softcap = INFINITY; },
     "softcap: inf; accepted: above 0 and finite, or 0 for none"},
    {"AlibiDimensions", [](Call& c) { c.with_options().alibi->dl.ndim = 3; },
     "alibi_slopes: 3 dimensions; accepted: 2, [batch, heads], or 1, [heads]"},
    {"AlibiShape", [](Call& c) { c.with_options().alibi->shape()[0] = 2; },
     "alibi_slopes: shape is (2); accepted: (4), (2, 4)"},
    {"AlibiDtype", [](Call& c) { c.with_options().alibi->dl.dtype = dl_dtype(DType::kF16); },
     "alibi_slopes: dtype is fp16; accepted: fp32"},
    {"AlibiStrides", [](Call& c) { c.with_options().alibi->strides()[0] = 0; },
     "alibi_slopes: strides are (0); accepted: contiguous"},
    {"AlibiElsewhere", [](Call& c) { c.with_options().alibi->dl.device = {kDLCUDA, 0}; },
     "alibi_slopes: device is cuda:0; accepted: cpu, where q is"},
    {"SinksDimensions", [](Call& c) { c.with_options().sinks->dl.ndim = 0; },
     "sinks: 0 dimensions; accepted: 1, [heads]"},
    {"SinksShape", [](Call& c) { c.with_options().sinks->shape()[0] = 2; },
     "sinks: shape is (2); accepted: (4), a logit for each head of q"},
    {"SinksDtype", [](Call& c) { c.with_options().sinks->dl.dtype = dl_dtype(DType::kBF16); },
     "sinks: dtype is bf16; accepted: fp32"},
    {"SinksStrides", [](Call& c) { c.with_options().sinks->strides()[0] = 2; },
     "sinks: strides are (2); accepted: contiguous"},
    {"SinksNull", [](Call& c) { c.with_options().sinks->dl.data = nullptr; },
     "sinks: data is NULL with shape (4); accepted: memory that holds the tensor"},
    {"BiasDimensions", [](Call& c) { c.with_options().bias->dl.ndim = 2; },
     "bias: 2 dimensions; accepted: 4, [batch, heads, seqlen_q, seqlen_k]"},
    {"BiasShape", [](Call& c) { c.with_options().bias->shape()[3] = 4; },
     "bias: shape is (2, 4, 3, 4); accepted: (2, 4, 3, 5), or 1 for any of them"},
    {"BiasEmpty", [](Call& c) { c.with_options().bias->shape()[1] = 0; },
     "bias: shape is (2, 0, 3, 5); accepted: (2, 4, 3, 5), or 1 for any of them"},
    {"BiasDtype", [](Call& c) { c.with_options({kDLBfloat, 16, 1}); },
     "bias: dtype is bf16; accepted: fp16, fp32, bool"},
    {"BiasDtypeOfFp32", [](Call& c) { c = Call::dense(DType::kF32), c.with_options(dl_dtype(DType::kF16)); },
     "bias: dtype is fp16; accepted: fp32, bool"},
    {"BiasUint8", [](Call& c) { c.with_options({kDLUInt, 8, 1}); }, "bias: dtype is uint8; accepted: fp16, fp32, bool"},
    {"BiasStrides", [](Call& c) { c.with_options().bias->strides()[3] = -1; },
     "bias: strides are (60, 15, 5, -1); accepted: 0 or more"},
    {"BiasOfRagged",
     [](Call& c) {
       c.bias = std::make_unique<Tensor>(std::vector<std::int64_t>{1, 1, 1, 1}, dl_dtype(DType::kF32));
       c.args.bias = &c.bias->dl;
     },
     "bias: given with cu_seqlens; accepted: none there", true},
    {"UsedDimensions", [](Call& c) { c.with_options().seqused_k->dl.ndim = 4; },
     "seqused_k: 4 dimensions; accepted: 1, [batch]"},
    {"UsedShape", [](Call& c) { c.with_options().seqused_k->shape()[0] = 1; },
     "seqused_k: shape is (1); accepted: (2), a number for each sequence"},
    {"UsedDtype", [](Call& c) { c.with_options().seqused_k->dl.dtype = {kDLInt, 64, 1}; },
     "seqused_k: dtype is int64; accepted: int32"},
    {"UsedStrides", [](Call& c) { c.with_options().seqused_k->strides()[0] = 0; },
     "seqused_k: strides are (0); accepted: contiguous"},
    {"UsedNegative", [](Call& c) { c.with_options().seqused_k->as<int>()[1] = -1; },
     "seqused_k: -1 at [1]; accepted: 0 to 5, the keys of that sequence"},
    {"UsedPastKeys", [](Call& c) { c.with_options().seqused_k->as<int>()[0] = 6; },
     "seqused_k: 6 at [0]; accepted: 0 to 5, the keys of that sequence"},
    {"UsedPastKeysOfRagged", [](Call& c) { c.with_options().seqused_k->as<int>()[1] = 5; },
     "seqused_k: 5 at [1]; accepted: 0 to 4, the keys of that sequence", true},
};
INSTANTIATE_TEST_SUITE_P(Arguments, Refused, testing::ValuesIn(kWrong),
                         [](const auto& info) { return info.param.name; });

/// Messages with an address in them.
void expect_refused(Call& c, const std::string& pattern) {
  ASSERT_EQ(run_if_refused(c), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::MatchesRegex(pattern));
  EXPECT_TRUE(c.out->untouched());
}

TEST(Refused, AddressesOffTheirAlignment) {
  Call c = Call::dense();
  c.k->dl.byte_offset = 1;
  expect_refused(c, "k: address 0x[0-9a-f]+1 \\(data \\+ byte_offset\\); accepted: multiples of 2 bytes for fp16");
}

TEST(Refused, OutputsOnOtherTensors) {
  const auto words = [](const std::string& written, const std::string& other) {
    return written + ": memory 0x[0-9a-f]+ to 0x[0-9a-f]+ overlaps " + other +
           "'s 0x[0-9a-f]+ to 0x[0-9a-f]+; accepted: memory of its own";
  };
  Call c = Call::dense();
  c.out->dl.data = c.q->dl.data;
  expect_refused(c, words("out", "q"));
  c = Call::dense();
  c.out->dl.data = c.v->as<char>() + c.v->bytes() - 2;  // the last element alone
  expect_refused(c, words("out", "v"));
  c = Call::dense();
  c.lse->dl.data = c.k->dl.data;
  expect_refused(c, words("lse", "k"));
  c = Call::dense();
  c.lse->dl.data = c.out->dl.data;
  expect_refused(c, words("out", "lse"));
  c = Call::ragged({0, 2, 6}, {0, 3, 7});
  c.lse->dl.data = c.cu_q->dl.data;
  expect_refused(c, words("lse", "cu_seqlens_q"));
  const std::pair<std::unique_ptr<Tensor> Call::*, const char*> options[] = {
      {&Call::alibi, "alibi_slopes"}, {&Call::sinks, "sinks"}, {&Call::bias, "bias"}, {&Call::seqused_k, "seqused_k"}};
  for (const auto& [tensor, name] : options) {
    c = Call::dense();
    c.with_options();
    c.lse->dl.data = (c.*tensor)->dl.data;
    expect_refused(c, words("lse", name));
  }
}

TEST(Accepted, NeighboursAndInputsThatShareMemory) {
  Call c = Call::dense(DType::kF16, 2, 3, 5, 2, 2);
  c.args.v = c.args.k;
  Tensor both({2, 2, 3, 2, 8}, dl_dtype(DType::kF16));  // q in the first half, out right behind it
  both.fill_normal(DType::kF16, 4);
  c.q->dl.data = both.as<char>();
  c.out->dl.data = both.as<char>() + both.bytes() / 2;
  EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
}

TEST(Accepted, StridesOfSizeOneAreNotLookedAt) {
  Call c = Call::dense(DType::kF16, 1, 3, 1, 1, 1);
  c.q->strides() = {-7, 8, 12345, 1};
  c.k->strides() = {3, 1, -1, 1};
  c.lse->strides() = {0, 99, 1};
  c.out->strides() = {0, 8, 0, 1};
  EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_FALSE(c.out->untouched());
}

TEST(Accepted, SizesBesideAZeroCountNothing) {
  constexpr std::int64_t kHuge = 1 << 30;
  Call c = Call::dense();
  c.args.lse = nullptr;
  const std::array tensors{c.q.get(), c.k.get(), c.v.get(), c.out.get()};
  for (Tensor* t : tensors) t->shape() = {0, kHuge, kHuge, 64};
  EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  for (Tensor* t : tensors) t->dl.strides = nullptr;
  EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(c.out->untouched());
}

TEST(Accepted, PinnedHostMemory) {
  Call c = Call::dense();
  for (Tensor* t : c.tensors()) t->dl.device = {kDLCUDAHost, 0};
  c.q->dl.device = {kDLCPU, 0};
  EXPECT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
}

TEST(Accepted, NullStridesAreRowMajor) {
  Call c = Call::dense(), d = Call::dense();
  for (Tensor* t : d.tensors()) t->dl.strides = nullptr;
  ASSERT_EQ(c.run(), FLASHFIT_OK) << flashfit_last_error();
  ASSERT_EQ(d.run(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(std::memcmp(c.out->as<char>(), d.out->as<char>(), c.out->bytes()), 0);
}

TEST(Versions, OlderCallersStructEndsWhereTheirsDid) {
  // The struct at the very end of a page, an unreadable one behind it: one byte read too far is a crash.
  const std::size_t page = static_cast<std::size_t>(sysconf(_SC_PAGESIZE));
  char* pages = static_cast<char*>(mmap(nullptr, 2 * page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0));
  ASSERT_NE(pages, MAP_FAILED);
  ASSERT_EQ(mprotect(pages + page, page, PROT_NONE), 0);
  Call c = Call::dense();
  c.args.struct_size = 88;  // the first version's
  char* at = pages + page - 88;
  std::memcpy(at, &c.args, 88);
  EXPECT_EQ(flashfit_attention_forward(reinterpret_cast<flashfit_attention_args*>(at)), FLASHFIT_OK)
      << flashfit_last_error();
  munmap(pages, 2 * page);
}

TEST(Versions, NewerCallersMaySetWhatIsKnown) {
  struct {
    flashfit_attention_args known;
    std::uint64_t later;
  } newer{Call::dense().args, 0};
  Call c = Call::dense();
  newer.known = c.args;
  newer.known.struct_size = sizeof newer;
  EXPECT_EQ(flashfit_attention_forward(&newer.known), FLASHFIT_OK) << flashfit_last_error();
  newer.later = 1;
  EXPECT_EQ(flashfit_attention_forward(&newer.known), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(
      flashfit_last_error(),
      "args: struct_size is 168 and fields past 160 are set, which flashfit 0.3.0 does not know; accepted: 0 there");
}

TEST(Refused, NullArgs) {
  EXPECT_EQ(flashfit_attention_forward(nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "args: NULL; accepted: a filled struct");
}

TEST(Checked, CallHoldsWhatWasAsked) {
  Call c = Call::ragged({0, 2, 6}, {0, 3, 7});
  c.args.flags = FLASHFIT_CAUSAL;
  const auto checked = api::check_forward(&c.args);
  ASSERT_TRUE(checked) << checked.error().message;
  const ForwardProblem& p = checked->call.problem;
  EXPECT_EQ(p.batch, 2);
  EXPECT_EQ(p.total_q, 6);
  EXPECT_EQ(p.total_k, 7);
  EXPECT_EQ(p.seqlen_q, 3);
  EXPECT_EQ(p.seqlen_k, 4);  // 3.5, rounded up
  EXPECT_TRUE(p.causal);
  EXPECT_TRUE(p.variable_length);
  EXPECT_FLOAT_EQ(checked->call.softmax_scale, 1 / std::sqrt(8.0f));
  EXPECT_EQ(checked->call.q.batch_stride, 0);
  EXPECT_EQ(checked->call.q.row_stride, 32);
  EXPECT_EQ(checked->call.q.head_stride, 8);
}

TEST(Checked, CallHoldsItsOptions) {
  Call c = Call::dense();
  c.with_options();
  c.args.flags = FLASHFIT_WINDOW | FLASHFIT_BATCH_INVARIANT;
  c.args.window_left = 1;
  c.args.window_right = 2;  // hides nothing: the first of 3 queries sees the first 5 keys
  c.args.softcap = 30;
  const auto checked = api::check_forward(&c.args);
  ASSERT_TRUE(checked) << checked.error().message;
  const ForwardCall& call = checked->call;
  EXPECT_EQ(call.problem.window_left, 1);
  EXPECT_EQ(call.problem.window_right, -1);
  EXPECT_FALSE(call.problem.causal);
  EXPECT_TRUE(call.problem.batch_invariant);
  EXPECT_TRUE(call.problem.softcap);
  EXPECT_EQ(call.softcap, 30);
  EXPECT_TRUE(call.problem.alibi);
  EXPECT_EQ(call.alibi_slopes, c.alibi->dl.data);
  EXPECT_EQ(call.alibi_batch_stride, 0);
  EXPECT_EQ(call.sinks, c.sinks->dl.data);
  EXPECT_EQ(call.seqused_k, c.seqused_k->dl.data);
  EXPECT_EQ(call.bias, c.bias->dl.data);
  EXPECT_EQ(call.problem.bias, BiasKind::kF32);
  EXPECT_EQ(call.bias_batch_stride, 60);
  EXPECT_EQ(call.bias_head_stride, 15);
  EXPECT_EQ(call.bias_row_stride, 5);
  EXPECT_EQ(call.bias_key_stride, 1);
}

TEST(Checked, SizesOfOneAreBroadcast) {
  Call c = Call::dense();
  c.with_options(kBool).bias->shape() = {1, 4, 1, 1};
  c.alibi = std::make_unique<Tensor>(std::vector<std::int64_t>{2, 4}, dl_dtype(DType::kF32));
  c.args.alibi_slopes = &c.alibi->dl;
  const auto checked = api::check_forward(&c.args);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->call.problem.bias, BiasKind::kVisible);
  EXPECT_EQ(checked->call.bias_batch_stride, 0);
  EXPECT_EQ(checked->call.bias_head_stride, 15);
  EXPECT_EQ(checked->call.bias_row_stride, 0);
  EXPECT_EQ(checked->call.bias_key_stride, 0);
  EXPECT_EQ(checked->call.alibi_batch_stride, 4);
}

TEST(Checked, BiasOfQsDtypeIsLikeQ) {
  for (const DType t : {DType::kF16, DType::kBF16, DType::kF32}) {
    Call c = Call::dense(t);
    c.with_options(dl_dtype(t));
    const auto checked = api::check_forward(&c.args);
    ASSERT_TRUE(checked) << checked.error().message;
    EXPECT_EQ(checked->call.problem.bias, t == DType::kF32 ? BiasKind::kF32 : BiasKind::kLikeQ);
  }
}

TEST(Checked, WindowsThatMeanTheSameAreTheSame) {
  struct Same {
    std::int64_t left, right;
    std::uint32_t flags;
    std::int64_t want_left, want_right;
    bool causal;
  };
  constexpr std::int64_t kFar = std::numeric_limits<std::int64_t>::max();
  for (const Same& s : {Same{-1, -1, 0, -1, -1, false},
                        {4, 2, 0, -1, -1, false},
                        {3, 1, 0, 3, 1, false},
                        {0, 0, 0, 0, -1, true},
                        {-1, 0, 0, -1, -1, true},
                        {1, 1, FLASHFIT_CAUSAL, 1, -1, true},
                        {kFar, kFar, 0, -1, -1, false},
                        {kFar, -1, FLASHFIT_CAUSAL, -1, -1, true}}) {
    Call c = Call::dense();  // 3 queries, 5 keys
    c.args.flags = FLASHFIT_WINDOW | s.flags;
    c.args.window_left = s.left, c.args.window_right = s.right;
    const auto checked = api::check_forward(&c.args);
    ASSERT_TRUE(checked) << checked.error().message;
    const ForwardProblem& p = checked->call.problem;
    EXPECT_EQ(p.window_left, s.want_left) << s.left << ", " << s.right;
    EXPECT_EQ(p.window_right, s.want_right) << s.left << ", " << s.right;
    EXPECT_EQ(p.causal, s.causal) << s.left << ", " << s.right;
  }
  // Of variable length what is right for one sequence alone holds in every batch.
  Call ragged = Call::ragged({0, 2, 6}, {0, 3, 7});
  ragged.args.flags = FLASHFIT_WINDOW;
  ragged.args.window_left = ragged.args.window_right = 100;
  const auto checked = api::check_forward(&ragged.args);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->call.problem.window_left, 100);
  EXPECT_EQ(checked->call.problem.window_right, 100);
}

TEST(Checked, WhatCannotBeCopiedSixteenBytesAtOnceIsUnaligned) {
  const auto unaligned = [](auto bend) {
    Call c = Call::dense();
    bend(c);
    c.pretend_gpu();
    const auto checked = api::check_forward(&c.args);
    EXPECT_TRUE(checked) << checked.error().message;
    return checked && checked->call.problem.unaligned;
  };
  EXPECT_FALSE(unaligned([](Call&) {}));
  EXPECT_TRUE(unaligned([](Call& c) { c.q->dl.byte_offset = 8; }));
  EXPECT_TRUE(unaligned([](Call& c) { c.k->strides() = {80, 16, 9, 1}; }));
  EXPECT_TRUE(unaligned([](Call& c) { c.v->dl.byte_offset = 2; }));
  EXPECT_TRUE(unaligned([](Call& c) { c.out->dl.byte_offset = 2; }));
  EXPECT_TRUE(unaligned([](Call& c) { c.out->strides() = {99, 33, 8, 1}; }));
  EXPECT_TRUE(unaligned([](Call& c) { c = Call::dense(DType::kBF16, 2, 3, 5, 4, 2, 7); }));
  EXPECT_FALSE(unaligned([](Call& c) { c = Call::dense(DType::kBF16, 2, 3, 5, 4, 2, 40); }));
  // A dimension that is never stepped along has no stride.
  EXPECT_FALSE(unaligned([](Call& c) { c = Call::dense(DType::kF16, 1, 3, 5, 1, 1), c.q->strides()[0] = 3; }));
  Call cpu = Call::dense();
  cpu.q->dl.byte_offset = 8;
  EXPECT_FALSE(api::check_forward(&cpu.args)->call.problem.unaligned);
}

TEST(Checked, ABiasWhoseKeysAreNotLoadedTwoAtOnceIsByElement) {
  const auto by_element = [](DLDataType type, std::int64_t keys, auto bend) {
    Call c = Call::dense(DType::kF16, 2, 3, keys);
    bend(*c.with_options(type).bias);
    c.pretend_gpu();
    const auto checked = api::check_forward(&c.args);
    EXPECT_TRUE(checked) << checked.error().message;
    return checked && checked->call.problem.bias_by_element;
  };
  const auto as_it_is = [](Tensor&) {};
  const DLDataType all[] = {kBool, dl_dtype(DType::kF16), dl_dtype(DType::kF32)};
  for (const DLDataType& type : all) {
    EXPECT_FALSE(by_element(type, 6, as_it_is)) << type.bits;
    EXPECT_TRUE(by_element(type, 5, as_it_is)) << type.bits;  // every second row begins between pairs
    EXPECT_TRUE(by_element(type, 6, [&](Tensor& t) { t.dl.byte_offset = type.bits / 8; })) << type.bits;
    EXPECT_FALSE(by_element(type, 6, [](Tensor& t) { t.shape()[1] = t.shape()[2] = 1; })) << type.bits;
    EXPECT_TRUE(by_element(type, 6, [](Tensor& t) { t.shape()[3] = 1; })) << type.bits;
    EXPECT_TRUE(by_element(type, 6, [](Tensor& t) { t.strides() = {72, 18, 1, 3}; })) << type.bits;
    EXPECT_TRUE(by_element(type, 6, [](Tensor& t) { t.strides() = {71, 18, 6, 1}; })) << type.bits;
  }
}

TEST(Checked, ValuesOfAnotherHeadDim) {
  Call c = Call::dense();
  c.v = std::make_unique<Tensor>(std::vector<std::int64_t>{2, 5, 2, 16}, dl_dtype(DType::kF16));
  c.out = std::make_unique<Tensor>(std::vector<std::int64_t>{2, 3, 4, 16}, dl_dtype(DType::kF16));
  c.args.v = &c.v->dl, c.args.out = &c.out->dl;
  const auto checked = api::check_forward(&c.args);
  ASSERT_TRUE(checked) << checked.error().message;
  EXPECT_EQ(checked->call.problem.head_dim, 8);
  EXPECT_EQ(checked->call.problem.head_dim_v, 16);
}

}  // namespace
}  // namespace flashfit::test
