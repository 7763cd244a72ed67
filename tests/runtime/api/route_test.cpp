// The router's C API on the CPU: results, every refusal in its exact words, questions.
#include <gmock/gmock.h>

#include <cmath>
#include <functional>

#include "tensors.hpp"

namespace flashfit::test {
namespace {

/// logits [3, 8] of fp32, top 2.
struct RouteArguments {
  Tensor logits{{3, 8}, dl_dtype(DType::kF32)}, weights{{3, 2}, dl_dtype(DType::kF32)}, ids{{3, 2}, {kDLInt, 32, 1}},
      bias{{8}, dl_dtype(DType::kF32)};
  flashfit_moe_route_args args{};

  RouteArguments() {
    logits.fill_normal(DType::kF32, 1);
    args.struct_size = sizeof args;
    args.logits = &logits.dl, args.weights = &weights.dl, args.ids = &ids.dl;
  }
};

TEST(Route, ChoosesAndWeighs) {
  RouteArguments a;
  const float logits[] = {0, 1, 1, 0, 0, 0, 0, 0};
  for (int t = 0; t < 3; ++t) std::copy(std::begin(logits), std::end(logits), a.logits.as<float>() + 8 * t);
  ASSERT_EQ(flashfit_moe_route(&a.args), FLASHFIT_OK) << flashfit_last_error();
  const float share = std::exp(1.0f) / (2 * std::exp(1.0f) + 6);
  for (int t = 0; t < 3; ++t) {
    EXPECT_EQ(a.ids.as<std::int32_t>()[2 * t], 1);
    EXPECT_EQ(a.ids.as<std::int32_t>()[2 * t + 1], 2);
    EXPECT_FLOAT_EQ(a.weights.as<float>()[2 * t], share);
  }
  for (const std::uint32_t flags : {FLASHFIT_RENORMALIZE, FLASHFIT_TOPK_FIRST}) {
    a.args.flags = flags;
    ASSERT_EQ(flashfit_moe_route(&a.args), FLASHFIT_OK);
    EXPECT_EQ(a.weights.as<float>()[0], 0.5f) << flags;
  }
  EXPECT_TRUE(a.weights.red_zones_intact() && a.ids.red_zones_intact());
  ASSERT_EQ(flashfit_moe_route_prepare(&a.args), FLASHFIT_OK);
}

TEST(Route, ChoosesByScoreAndBias) {
  RouteArguments a;
  std::fill_n(a.logits.as<float>(), 24, 0.0f);
  std::fill_n(a.bias.as<float>(), 8, 0.0f);
  a.logits.as<float>()[5] = 1, a.bias.as<float>()[3] = 0.5f;
  a.args.flags = FLASHFIT_SIGMOID, a.args.router_bias = &a.bias.dl, a.args.scale = 2;
  ASSERT_EQ(flashfit_moe_route(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(a.ids.as<std::int32_t>()[0], 3);
  EXPECT_EQ(a.ids.as<std::int32_t>()[1], 5);
  EXPECT_FLOAT_EQ(a.weights.as<float>()[0], 1.0f);  // the bias is no part of it
  EXPECT_FLOAT_EQ(a.weights.as<float>()[1], 2 / (1 + std::exp(-1.0f)));
  a.args.groups = 2, a.args.groups_kept = 1;
  ASSERT_EQ(flashfit_moe_route(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(a.ids.as<std::int32_t>()[1], 0);  // of the group that 3 wins
}

TEST(Route, NoTokensIsNoWork) {
  RouteArguments a;
  a.logits.shape()[0] = a.weights.shape()[0] = a.ids.shape()[0] = 0;
  EXPECT_EQ(flashfit_moe_route(&a.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_TRUE(a.weights.untouched());
}

struct WrongRoute {
  const char* name;
  std::function<void(RouteArguments&)> bend;
  const char* message;
};
void PrintTo(const WrongRoute& w, std::ostream* os) { *os << w.name; }

class RouteRefused : public testing::TestWithParam<WrongRoute> {};

TEST_P(RouteRefused, SaysWhyAndWritesNothing) {
  RouteArguments a;
  GetParam().bend(a);
  for (const auto& call : {flashfit_moe_route, flashfit_moe_route_prepare}) {
    ASSERT_EQ(call(&a.args), FLASHFIT_INVALID_ARGUMENT);
    EXPECT_THAT(flashfit_last_error(), testing::StrEq(GetParam().message));
  }
  EXPECT_TRUE(a.weights.untouched());
  EXPECT_TRUE(a.ids.untouched());
}

const WrongRoute kWrong[] = {
    {"StructSize", [](RouteArguments& a) { a.args.struct_size = 40; },
     "args: struct_size is 40; accepted: sizeof of the struct, 72 in this version"},
    {"Flags", [](RouteArguments& a) { a.args.flags = FLASHFIT_CAUSAL; },
     "flags: 0x1 is unknown; accepted: FLASHFIT_PTX_ONLY (0x2), FLASHFIT_TOPK_FIRST (0x100), FLASHFIT_RENORMALIZE "
     "(0x200), FLASHFIT_SIGMOID (0x800), FLASHFIT_SQRT_SOFTPLUS (0x1000)"},
    {"TwoRouters", [](RouteArguments& a) { a.args.flags = FLASHFIT_SIGMOID | FLASHFIT_TOPK_FIRST; },
     "flags: 0x900 has more than one of FLASHFIT_TOPK_FIRST, FLASHFIT_SIGMOID, FLASHFIT_SQRT_SOFTPLUS; accepted: one "
     "or none"},
    {"GroupsOfASoftmax", [](RouteArguments& a) { a.args.groups = a.args.groups_kept = 2; },
     "groups: 2 with a softmax; accepted: 0 or 1, or FLASHFIT_SIGMOID or FLASHFIT_SQRT_SOFTPLUS"},
    {"Groups",
     [](RouteArguments& a) {
       a.args.flags = FLASHFIT_SIGMOID;
       a.args.groups = 3;
       a.args.groups_kept = 1;
     },
     "groups: 3; accepted: a divisor of 8, the experts"},
    {"GroupsKept",
     [](RouteArguments& a) {
       a.args.flags = FLASHFIT_SIGMOID;
       a.args.groups = 4;
       a.args.groups_kept = 5;
     },
     "groups_kept: 5; accepted: 1 to 4, the groups"},
    {"Scale", [](RouteArguments& a) { a.args.scale = INFINITY; }, "scale: inf; accepted: finite numbers, 0 for 1"},
    {"Reserved", [](RouteArguments& a) { a.args.reserved = 1; }, "args: reserved is 1; accepted: 0"},
    {"BiasOfASoftmax", [](RouteArguments& a) { a.args.router_bias = &a.bias.dl; },
     "router_bias: given with a softmax; accepted: NULL, or FLASHFIT_SIGMOID or FLASHFIT_SQRT_SOFTPLUS"},
    {"ShortBias",
     [](RouteArguments& a) {
       a.args.flags = FLASHFIT_SIGMOID;
       a.args.router_bias = &a.bias.dl;
       a.bias.shape()[0] = 7;
     },
     "router_bias: shape is (7); accepted: (8), a number for each expert"},
    {"NoLogits", [](RouteArguments& a) { a.args.logits = nullptr; },
     "logits: NULL; accepted: a tensor [tokens, experts]"},
    {"NoWeights", [](RouteArguments& a) { a.args.weights = nullptr; },
     "weights: NULL; accepted: a tensor [tokens, top_k]"},
    {"NoIds", [](RouteArguments& a) { a.args.ids = nullptr; }, "ids: NULL; accepted: a tensor [tokens, top_k]"},
    {"OneDimension", [](RouteArguments& a) { a.logits.dl.ndim = 1; },
     "logits: 1 dimensions; accepted: 2, [tokens, experts]"},
    {"LogitsOfInts", [](RouteArguments& a) { a.logits.dl.dtype = {kDLInt, 32, 1}; },
     "logits: dtype is int32; accepted: fp16, bf16, fp32"},
    {"WeightsOfHalves", [](RouteArguments& a) { a.weights.dl.dtype = {kDLFloat, 16, 1}; },
     "weights: dtype is fp16; accepted: fp32"},
    {"LongIds", [](RouteArguments& a) { a.ids.dl.dtype = {kDLInt, 64, 1}; }, "ids: dtype is int64; accepted: int32"},
    {"NoExperts", [](RouteArguments& a) { a.logits.shape()[1] = 0; },
     "logits: shape is (3, 0); accepted: 1 to 512 experts"},
    {"ManyExperts",
     [](RouteArguments& a) {
       a.logits.shape() = {1, 513};
       a.logits.strides() = {0, 1};
     },
     "logits: shape is (1, 513); accepted: 1 to 512 experts"},
    {"OtherTokens", [](RouteArguments& a) { a.weights.shape()[0] = 2; },
     "weights: shape is (2, 2); accepted: (3, top_k), a row for each token"},
    {"NothingChosen", [](RouteArguments& a) { a.weights.shape()[1] = 0; },
     "weights: shape is (3, 0); accepted: top_k from 1 to 8"},
    {"MoreThanExperts", [](RouteArguments& a) { a.logits.shape()[1] = 1; },
     "weights: shape is (3, 2); accepted: top_k from 1 to 1"},
    {"OtherIds", [](RouteArguments& a) { a.ids.shape()[1] = 1; }, "ids: shape is (3, 1); accepted: (3, 2), as weights"},
    {"SteppedExperts",
     [](RouteArguments& a) {
       a.logits.shape()[1] = 4;
       a.logits.strides()[1] = 2;
     },
     "logits: strides are (8, 2); accepted: 1 in the last dimension"},
    {"SpreadWeights",
     [](RouteArguments& a) {
       a.weights.shape() = a.ids.shape() = {2, 1};
       a.logits.shape()[0] = 2;
       a.weights.strides() = {2, 1};
     },
     "weights: strides are (2, 1); accepted: contiguous"},
    {"Variant", [](RouteArguments& a) { a.args.variant = "route_warp_fp32_e128_w4"; },
     "variant: \"route_warp_fp32_e128_w4\" with tensors on the CPU; accepted there: NULL"},
    {"OtherDevice", [](RouteArguments& a) { a.ids.dl.device = {kDLCUDA, 0}; },
     "ids: device is cuda:0; accepted: cpu, where logits is"},
};

INSTANTIATE_TEST_SUITE_P(Arguments, RouteRefused, testing::ValuesIn(kWrong),
                         [](const auto& info) { return info.param.name; });

TEST(Route, ResultsHaveMemoryOfTheirOwn) {
  RouteArguments a;
  a.ids.dl.data = a.weights.dl.data;
  ASSERT_EQ(flashfit_moe_route(&a.args), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::HasSubstr("overlaps weights's"));
  EXPECT_TRUE(a.weights.untouched());
  EXPECT_EQ(flashfit_moe_route(nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "args: NULL; accepted: a filled struct");
}

flashfit_moe_route_explain_args question() {
  flashfit_moe_route_explain_args a{};
  a.struct_size = sizeof a;
  a.gpu = "L4", a.dtype = "bf16", a.tokens = 64, a.experts = 128, a.top_k = 8;
  return a;
}

TEST(RouteQuestion, IsAnsweredForAnyGpu) {
  flashfit_moe_route_explain_args a = question();
  char* json = nullptr;
  ASSERT_EQ(flashfit_moe_route_explain_json(&a, &json), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(json, testing::StartsWith(R"([{"gpu":"L4","compute_capability":"8.9","fits":)"));
  flashfit_free(json);
  a.gpu = "all";
  ASSERT_EQ(flashfit_moe_route_explain_json(&a, &json), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(json, testing::HasSubstr(R"("gpu":"H200")"));
  flashfit_free(json);
}

TEST(RouteQuestion, RefusesWhatIsWrong) {
  const auto refused = [](const std::function<void(flashfit_moe_route_explain_args&)>& bend) -> std::string {
    flashfit_moe_route_explain_args a = question();
    bend(a);
    char* json = nullptr;
    EXPECT_EQ(flashfit_moe_route_explain_json(&a, &json), FLASHFIT_INVALID_ARGUMENT);
    EXPECT_EQ(json, nullptr);
    return flashfit_last_error();
  };
  EXPECT_EQ(refused([](auto& a) { a.experts = 513; }), "experts: 513; accepted: 1 to 512");
  EXPECT_EQ(refused([](auto& a) { a.top_k = 17; }), "top_k: 17; accepted: 1 to 16");
  EXPECT_EQ(refused([](auto& a) { a.experts = 2; }), "top_k: 8; accepted: 1 to 2");
  EXPECT_EQ(refused([](auto& a) { a.tokens = -1; }), "tokens: -1; accepted: 0 to 2147418112");
  EXPECT_EQ(refused([](auto& a) { a.dtype = "fp8"; }), R"(dtype: "fp8"; accepted: "fp16", "bf16", "fp32")");
  EXPECT_EQ(refused([](auto& a) { a.cuda_version = -1; }), "cuda_version: -1; accepted: 12090 for 12.9, or 0");
  EXPECT_EQ(refused([](auto& a) { a.reserved = 1; }), "args: reserved is 1; accepted: 0");
  EXPECT_THAT(refused([](auto& a) { a.variant = "x"; }),
              testing::StartsWith("variant x is no variant of the router; for bf16 routing to 8 of 128 experts: "));
}

}  // namespace
}  // namespace flashfit::test
