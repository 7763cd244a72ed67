// The C API of a layer of experts on the CPU: results, refusals that Python's package words itself, GPUs.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tensors.hpp"

namespace flashfit::test {
namespace {

/// x [3, 4] of fp32, 2 experts of 5 features, top 1; weights of ones, so that sums are easily told.
struct ExpertsArguments {
  Tensor x{{3, 4}, dl_dtype(DType::kF32)}, w13{{2, 10, 4}, dl_dtype(DType::kF32)}, w2{{2, 4, 5}, dl_dtype(DType::kF32)},
      out{{3, 4}, dl_dtype(DType::kF32)}, ids{{3, 1}, {kDLInt, 32, 1}}, weights{{3, 1}, dl_dtype(DType::kF32)},
      logits{{3, 2}, dl_dtype(DType::kF32)}, offsets{{3}, {kDLInt, 32, 1}}, map{{2}, {kDLInt, 32, 1}};
  flashfit_fused_moe_args args{};

  ExpertsArguments() {
    for (Tensor* t : {&x, &w13, &w2, &weights, &logits}) fill(*t, 1);
    for (int i = 0; i < 20; ++i) w2.as<float>()[20 + i] = 10;  // of expert 1
    const std::int32_t chosen[] = {0, 1, 0}, groups[] = {0, 2, 3}, turned[] = {1, 0};
    std::copy(chosen, chosen + 3, ids.as<std::int32_t>());
    std::copy(groups, groups + 3, offsets.as<std::int32_t>());
    std::copy(turned, turned + 2, map.as<std::int32_t>());
    args.struct_size = sizeof args;
    args.x = &x.dl, args.w13 = &w13.dl, args.w2 = &w2.dl, args.out = &out.dl;
    args.topk_ids = &ids.dl, args.topk_weights = &weights.dl;
  }
  static void fill(Tensor& t, float value) { std::fill_n(t.as<float>(), t.bytes() / sizeof(float), value); }
  std::vector<float> column() { return {out.as<float>()[0], out.as<float>()[4], out.as<float>()[8]}; }
};

/// An expert of ones makes 5 features of g = u = 4.
const float kOne = 5 * 16 / (1 + std::exp(-4.0F));

TEST(Experts, AreFoundInThreeWays) {
  ExpertsArguments a;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  using testing::ElementsAre, testing::FloatEq;
  EXPECT_THAT(a.column(), ElementsAre(FloatEq(kOne), FloatEq(10 * kOne), FloatEq(kOne)));
  a.args.topk_ids = a.args.topk_weights = nullptr;
  a.args.offsets = &a.offsets.dl;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(a.column(), ElementsAre(FloatEq(kOne), FloatEq(kOne), FloatEq(10 * kOne)));
  a.args.offsets = nullptr;
  a.args.router_logits = &a.logits.dl, a.args.top_k = 2, a.args.flags = FLASHFIT_RENORMALIZE;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(a.column(), testing::Each(FloatEq(5.5F * kOne)));
  EXPECT_TRUE(a.out.red_zones_intact());
}

TEST(Experts, AMapSaysWhereWeightsAre) {
  ExpertsArguments a;
  a.args.expert_map = &a.map.dl;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  using testing::ElementsAre, testing::FloatEq;
  EXPECT_THAT(a.column(), ElementsAre(FloatEq(10 * kOne), FloatEq(kOne), FloatEq(10 * kOne)));
}

TEST(Experts, ActivationsHaveTheirNumbers) {
  ExpertsArguments a;
  a.args.alpha = 2, a.args.limit = 3, a.args.shift = 1;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_FLOAT_EQ(a.column()[0], 5 * 3 / (1 + std::exp(-6.0F)) * 4);
  a.args.alpha = a.args.limit = a.args.shift = 0;
  a.w13.shape()[1] = 5;
  a.w13.strides()[0] = 20;
  a.args.activation = FLASHFIT_RELU2;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_FLOAT_EQ(a.column()[0], 5 * 16);
}

TEST(Experts, NoTokensIsNoWork) {
  ExpertsArguments a;
  for (Tensor* t : {&a.x, &a.out, &a.ids, &a.weights}) t->shape()[0] = 0;
  EXPECT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(a.out.untouched());
}

TEST(Experts, NeedNoWorkspaceOnTheCpu) {
  ExpertsArguments a;
  std::uint64_t bytes = 7;
  EXPECT_EQ(flashfit_fused_moe_workspace(&a.args, &bytes), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(bytes, 0u);
  EXPECT_TRUE(a.out.untouched());
  EXPECT_EQ(flashfit_fused_moe_workspace(&a.args, nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "bytes: NULL; accepted: where to put the workspace's size");
}

struct WrongExperts {
  const char* name;
  std::function<void(ExpertsArguments&)> bend;
  const char* message;
};
void PrintTo(const WrongExperts& w, std::ostream* os) { *os << w.name; }

class ExpertsRefused : public testing::TestWithParam<WrongExperts> {};

TEST_P(ExpertsRefused, SaysWhyAndWritesNothing) {
  ExpertsArguments a;
  GetParam().bend(a);
  EXPECT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), GetParam().message);
  EXPECT_TRUE(a.out.untouched());
}

const WrongExperts kWrong[] = {
    {"StructSize", [](ExpertsArguments& a) { a.args.struct_size = 192; },
     "args: struct_size is 192; accepted: sizeof of the struct, 208 in this version"},
    {"Flags", [](ExpertsArguments& a) { a.args.flags = FLASHFIT_CAUSAL; },
     "flags: 0x1 is unknown; accepted: FLASHFIT_TRANSPOSED (0x2000), FLASHFIT_INTERLEAVED (0x4000), "
     "FLASHFIT_WEIGHT_ON_INPUT (0x8000), FLASHFIT_PTX_ONLY (0x2), and with router_logits a router's (0x1b00)"},
    {"RouterFlags", [](ExpertsArguments& a) { a.args.flags = FLASHFIT_RENORMALIZE; },
     "flags: 0x200 is of a router; accepted: router_logits with it"},
    {"TwoWays", [](ExpertsArguments& a) { a.args.offsets = &a.offsets.dl; },
     "topk_ids, router_logits, offsets: 2 of them given; accepted: topk_ids with topk_weights, or router_logits, or "
     "offsets"},
    {"NoWay", [](ExpertsArguments& a) { a.args.topk_ids = a.args.topk_weights = nullptr; },
     "topk_ids, router_logits, offsets: 0 of them given; accepted: topk_ids with topk_weights, or router_logits, or "
     "offsets"},
    {"NoWeights", [](ExpertsArguments& a) { a.args.topk_weights = nullptr; },
     "topk_weights: NULL; accepted: a tensor [tokens, top_k]"},
    {"TopK", [](ExpertsArguments& a) { a.args.top_k = 1; }, "top_k: given without router_logits; accepted: 0"},
    {"Scale", [](ExpertsArguments& a) { a.args.scale = 1; }, "scale: given without router_logits; accepted: 0"},
    {"Bias", [](ExpertsArguments& a) { a.args.router_bias = &a.weights.dl; },
     "router_bias: given without router_logits; accepted: NULL"},
    {"Id", [](ExpertsArguments& a) { a.ids.as<std::int32_t>()[2] = 2; },
     "topk_ids: 2 at [2, 0]; accepted: 0 to 1; with a range or a map of the experts that are there, any"},
    {"Activation", [](ExpertsArguments& a) { a.args.activation = 5; },
     "activation: 5; accepted: FLASHFIT_SWIGLU (0) to FLASHFIT_RELU2 (4)"},
    {"Alpha", [](ExpertsArguments& a) { a.args.alpha = INFINITY; }, "alpha: inf; accepted: finite numbers"},
    {"Limit", [](ExpertsArguments& a) { a.args.limit = -1; }, "limit: -1; accepted: above 0, or 0 for none"},
    {"LimitOfGelu",
     [](ExpertsArguments& a) {
       a.args.activation = FLASHFIT_GEGLU_ERF;
       a.args.limit = 7;
     },
     "limit: 7 with geglu_erf; accepted: 0"},
    {"MapAndRange",
     [](ExpertsArguments& a) {
       a.args.expert_map = &a.map.dl;
       a.args.experts_high = 2;
     },
     "experts_low: 0 and experts_high: 2 with expert_map; accepted: 0"},
    {"GateAlone", [](ExpertsArguments& a) { a.args.shared_gate = &a.weights.dl; },
     "shared_w13: NULL; accepted: a tensor [outputs, hidden]"},
    {"Variant", [](ExpertsArguments& a) { a.args.variant = "experts_mma"; },
     "variant: \"experts_mma\" with tensors on the CPU; accepted there: NULL"},
    {"KeptOnTheCpu", [](ExpertsArguments& a) { a.args.z = &a.out.dl; },
     "z: given with tensors on the CPU; accepted there: NULL"},
    {"OtherDevice", [](ExpertsArguments& a) { a.w2.dl.device = {kDLCUDA, 0}; },
     "w2: device is cuda:0; accepted: cpu, where x is"},
    {"RowsOfOutShareMemory", [](ExpertsArguments& a) { a.out.strides() = {2, 1}; },
     "out: shape (3, 4) with strides (2, 1) steps into itself; accepted: each stride past all that smaller ones span"},
};

INSTANTIATE_TEST_SUITE_P(Arguments, ExpertsRefused, testing::ValuesIn(kWrong),
                         [](const auto& info) { return info.param.name; });

/// Of the call above; all gradients.
struct GradientArguments : ExpertsArguments {
  Tensor dout{{3, 4}, dl_dtype(DType::kF32)}, dx{{3, 4}, dl_dtype(DType::kF32)},
      dw13{{2, 10, 4}, dl_dtype(DType::kF32)}, dw2{{2, 4, 5}, dl_dtype(DType::kF32)},
      dweights{{3, 1}, dl_dtype(DType::kF32)};
  flashfit_fused_moe_backward_args backward{};

  GradientArguments() {
    fill(dout, 1);
    backward.struct_size = sizeof backward;
    backward.x = &x.dl, backward.w13 = &w13.dl, backward.w2 = &w2.dl, backward.dout = &dout.dl;
    backward.topk_ids = &ids.dl, backward.topk_weights = &weights.dl;
    backward.dx = &dx.dl, backward.dw13 = &dw13.dl, backward.dw2 = &dw2.dl, backward.dtopk_weights = &dweights.dl;
  }
};

TEST(ExpertsGradients, AreThoseOfTheCall) {
  GradientArguments a;
  ASSERT_EQ(flashfit_fused_moe_backward(&a.backward), FLASHFIT_OK) << flashfit_last_error();
  // out's four columns are y each; h = 16 / (1 + exp(-4)) of every feature.
  const float h = 16 / (1 + std::exp(-4.0F));
  EXPECT_FLOAT_EQ(a.dweights.as<float>()[0], 4 * kOne);
  EXPECT_FLOAT_EQ(a.dweights.as<float>()[1], 40 * kOne);
  EXPECT_FLOAT_EQ(a.dw2.as<float>()[0], 2 * h);  // two tokens
  EXPECT_FLOAT_EQ(a.dw2.as<float>()[20], h);     // one
  const float s = 1 / (1 + std::exp(-4.0F)), by_g = 4 * (s + 4 * s * (1 - s)), by_u = 4 * s;
  EXPECT_NEAR(a.dx.as<float>()[0], 4 * 5 * (by_g + by_u), 1e-3F);
  EXPECT_NEAR(a.dw13.as<float>()[0], 2 * 4 * by_g, 1e-4F);
  EXPECT_NEAR(a.dw13.as<float>()[5 * 4], 2 * 4 * by_u, 1e-4F);
  EXPECT_TRUE(a.dx.red_zones_intact() && a.dw13.red_zones_intact() && a.dw2.red_zones_intact());
  a.backward.dx = a.backward.dw13 = nullptr;
  ASSERT_EQ(flashfit_fused_moe_backward(&a.backward), FLASHFIT_OK) << flashfit_last_error();
}

TEST(ExpertsGradients, AreRefusedInOneLine) {
  const struct {
    std::function<void(GradientArguments&)> bend;
    const char* message;
  } wrong[] = {
      {[](GradientArguments& a) { a.backward.struct_size = 160; },
       "args: struct_size is 160; accepted: sizeof of the struct, 168 in this version"},
      {[](GradientArguments& a) { a.backward.flags = FLASHFIT_RENORMALIZE; },
       "flags: 0x200 is unknown; accepted: FLASHFIT_TRANSPOSED (0x2000), FLASHFIT_INTERLEAVED (0x4000), "
       "FLASHFIT_WEIGHT_ON_INPUT (0x8000)"},
      {[](GradientArguments& a) { a.backward.dout = nullptr; }, "dout: NULL; accepted: a tensor [tokens, hidden]"},
      {[](GradientArguments& a) { a.backward.topk_ids = a.backward.topk_weights = nullptr; },
       "topk_ids: NULL; accepted: a tensor [tokens, top_k]"},
      {[](GradientArguments& a) { a.dout.shape()[1] = 3; }, "dout: shape is (3, 3); accepted: (3, 4), as x"},
      {[](GradientArguments& a) { a.dw2.shape()[1] = 3; }, "dw2: shape is (2, 3, 5); accepted: (2, 4, 5), as w2"},
      {[](GradientArguments& a) { a.dx.dl.dtype = {kDLFloat, 16, 1}; }, "dx: dtype is fp16; accepted: fp32, as x"},
      {[](GradientArguments& a) { a.backward.db13 = &a.dx.dl; }, "db13: given without b13; accepted: NULL"},
      {[](GradientArguments& a) { a.ids.as<std::int32_t>()[0] = -1; },
       "topk_ids: -1 at [0, 0]; accepted: 0 to 1; with a range or a map of the experts that are there, any"},
  };
  for (const auto& each : wrong) {
    GradientArguments a;
    each.bend(a);
    EXPECT_EQ(flashfit_fused_moe_backward(&a.backward), FLASHFIT_INVALID_ARGUMENT);
    EXPECT_STREQ(flashfit_last_error(), each.message);
    EXPECT_TRUE(a.dx.untouched() && a.dw13.untouched() && a.dw2.untouched() && a.dweights.untouched());
  }
  GradientArguments a;
  a.dw2.dl.data = a.w2.dl.data;
  EXPECT_EQ(flashfit_fused_moe_backward(&a.backward), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("overlaps w2's"));
}

TEST(Experts, OutHasMemoryOfItsOwn) {
  ExpertsArguments a;
  a.out.dl.data = a.w2.dl.data;
  ASSERT_EQ(flashfit_fused_moe(&a.args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("overlaps w2's"));
  EXPECT_EQ(flashfit_fused_moe(nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "args: NULL; accepted: a filled struct");
}

flashfit_fused_moe_explain_args question() {
  flashfit_fused_moe_explain_args a{};
  a.struct_size = sizeof a;
  a.gpu = "L4", a.dtype = "bf16", a.tokens = 64, a.experts = 128, a.top_k = 8, a.hidden = 2048, a.intermediate = 768;
  return a;
}

TEST(ExpertsQuestion, IsAnsweredForAnyGpu) {
  flashfit_fused_moe_explain_args a = question();
  char* json = nullptr;
  ASSERT_EQ(flashfit_fused_moe_explain_json(&a, &json), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(json, testing::StartsWith(R"([{"gpu":"L4","compute_capability":"8.9","fits":)"));
  EXPECT_THAT(json, testing::HasSubstr(R"("operation":"moe.experts")"));  // whether images are carried or not
  flashfit_free(json);
  a.gpu = "all", a.experts_low = 32, a.experts_high = 64, a.dtype = "fp32";
  ASSERT_EQ(flashfit_fused_moe_explain_json(&a, &json), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(json, testing::HasSubstr(R"("gpu":"H200")"));
  EXPECT_THAT(json, testing::HasSubstr("fp32 experts, 8 of 64, hidden 2048, intermediate 768: on a GPU experts are"));
  flashfit_free(json);
}

TEST(ExpertsQuestion, RefusesWhatIsWrong) {
  const auto refused = [](const std::function<void(flashfit_fused_moe_explain_args&)>& bend) -> std::string {
    flashfit_fused_moe_explain_args a = question();
    bend(a);
    char* json = nullptr;
    EXPECT_EQ(flashfit_fused_moe_explain_json(&a, &json), FLASHFIT_INVALID_ARGUMENT);
    EXPECT_EQ(json, nullptr);
    return flashfit_last_error();
  };
  EXPECT_EQ(refused([](auto& a) { a.experts = 513; }), "experts: 513; accepted: 1 to 512");
  EXPECT_EQ(refused([](auto& a) { a.top_k = 17; }), "top_k: 17; accepted: 1 to 16");
  EXPECT_EQ(refused([](auto& a) { a.top_k = 0; }), "top_k: 0; accepted: 1 to 16");
  EXPECT_EQ(refused([](auto& a) { a.tokens = 1 << 28; }), "tokens: 268435456; accepted: 0 to 268435455");
  EXPECT_EQ(refused([](auto& a) { a.hidden = 0; }), "hidden: 0; accepted: 1 to 1048576");
  EXPECT_EQ(refused([](auto& a) { a.intermediate = -1; }), "intermediate: -1; accepted: 1 to 1048576");
  EXPECT_EQ(refused([](auto& a) { a.dtype = "fp8"; }), R"(dtype: "fp8"; accepted: "fp16", "bf16", "fp32")");
  EXPECT_EQ(refused([](auto& a) { a.cuda_version = -1; }), "cuda_version: -1; accepted: 12090 for 12.9, or 0");
  EXPECT_EQ(refused([](auto& a) { a.activation = 5; }),
            "activation: 5; accepted: FLASHFIT_SWIGLU (0) to FLASHFIT_RELU2 (4)");
  EXPECT_EQ(refused([](auto& a) { a.experts_low = 3, a.experts_high = 3; }),
            "experts_low: 3, experts_high: 3; accepted: 0 <= experts_low < experts_high <= 128, or both 0");
  EXPECT_EQ(refused([](auto& a) { a.experts_high = 129; }),
            "experts_low: 0, experts_high: 129; accepted: 0 <= experts_low < experts_high <= 128, or both 0");
  EXPECT_EQ(refused([](auto& a) { a.flags = FLASHFIT_INTERLEAVED, a.activation = FLASHFIT_SILU; }),
            "flags: FLASHFIT_INTERLEAVED (0x4000) with silu, which has no gate");
  EXPECT_THAT(refused([](auto& a) { a.flags = FLASHFIT_CAUSAL; }), testing::HasSubstr("is unknown; accepted: "));
  EXPECT_THAT(refused([](auto& a) { a.variant = "x"; }),
              testing::StartsWith("variant x is no variant of the experts' products"));
  EXPECT_THAT(refused([](auto& a) { a.gpu = "L5"; }), testing::HasSubstr("L5"));
  EXPECT_THAT(refused([](auto& a) { a.struct_size = 80; }), testing::HasSubstr("struct_size"));
}

}  // namespace
}  // namespace flashfit::test
