// flashfit.hpp as a user meets it: C++17, the shared library, no header of the source tree beside the public ones.
#include <gtest/gtest.h>

#include <cmath>
#include <flashfit/flashfit.hpp>
#include <optional>

namespace {

using flashfit::Expected;
using flashfit::Tensor;

struct Small {
  float q[4] = {1, 0, 0, 1}, k[4] = {1, 0, 0, 1}, v[4] = {1, 2, 3, 4}, out[4] = {}, lse[2] = {};
  Tensor tq{q, {1, 2, 1, 2}}, tk{k, {1, 2, 1, 2}}, tv{v, {1, 2, 1, 2}}, to{out, {1, 2, 1, 2}}, tl{lse, {1, 1, 2}};
};

TEST(Attention, WithOptions) {
  Small s;
  flashfit::AttentionOptions options;
  options.causal = true;
  options.softmax_scale = 1;
  options.lse = &s.tl;
  const auto done = flashfit::attention(s.tq, s.tk, s.tv, s.to, options);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(s.out[0], 1);  // the first query sees the first key alone
  EXPECT_EQ(s.out[1], 2);
  const float second = std::exp(1.0f) / (1 + std::exp(1.0f));
  EXPECT_NEAR(s.out[2], 1 * (1 - second) + 3 * second, 1e-6);
  EXPECT_NEAR(s.lse[1], std::log(1 + std::exp(1.0f)), 1e-6);
  EXPECT_EQ(flashfit::workspace(s.tq, s.tk, s.tv, s.to, options).value(), 0u);
  EXPECT_TRUE(flashfit::prepare(s.tq, s.tk, s.tv, s.to, options));
  s.out[0] = 0;
  const auto none = [](std::uint64_t) -> void* { return ADD_FAILURE() << "no call on the CPU needs memory", nullptr; };
  EXPECT_TRUE(flashfit::attention(s.tq, s.tk, s.tv, s.to, options, none));
  EXPECT_EQ(s.out[0], 1);
}

TEST(Attention, VariableLengthAndStrides) {
  // Two sequences of one row each; q is every second row of its memory.
  const float q[4] = {1, 9, 2, 9}, k[2] = {1, 1}, v[2] = {5, 7};
  float out[2] = {};
  const std::int32_t cu[3] = {0, 1, 2};
  const Tensor offsets(cu, {3});
  flashfit::AttentionOptions options;
  options.cu_seqlens_q = options.cu_seqlens_k = &offsets;
  const auto done = flashfit::attention(Tensor(q, {2, 1, 1}, flashfit::kCpu, {2, 1, 1}), Tensor(k, {2, 1, 1}),
                                        Tensor(v, {2, 1, 1}), Tensor(out, {2, 1, 1}), options);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_EQ(out[0], 5);
  EXPECT_EQ(out[1], 7);
}

/// One head, two queries and two keys, scores of 0 but for what the options make of them.
struct Zeros {
  float q[2] = {}, k[2] = {}, v[2] = {2, 4}, out[2] = {-1, -1};
  flashfit::AttentionOptions options;

  Expected<void> run() {
    return flashfit::attention(Tensor(q, {1, 2, 1, 1}), Tensor(k, {1, 2, 1, 1}), Tensor(v, {1, 2, 1, 1}),
                               Tensor(out, {1, 2, 1, 1}), options);
  }
};

TEST(Options, Window) {
  Zeros z;
  z.options.window = flashfit::Window{0, -1};
  ASSERT_TRUE(z.run());
  EXPECT_EQ(z.out[0], 3);
  EXPECT_EQ(z.out[1], 4);  // sees its own key alone
  z.options.window = flashfit::Window{-2, 0};
  EXPECT_EQ(z.run().error().message, "window_left: -2; accepted: 0 or more, or -1 for no limit");
}

TEST(Options, Softcap) {
  Zeros z;
  z.q[0] = 1e4f, z.k[1] = 1;
  z.options.softcap = 1;
  ASSERT_TRUE(z.run());
  EXPECT_NEAR(z.out[0], (2 + 4 * std::exp(1.0f)) / (1 + std::exp(1.0f)), 1e-5);
}

TEST(Options, AlibiSlopes) {
  Zeros z;
  const float slope = std::log(3.0f);
  const Tensor slopes(&slope, {1});
  z.options.alibi_slopes = &slopes;
  ASSERT_TRUE(z.run());
  EXPECT_NEAR(z.out[0], 2.5, 1e-6);
  EXPECT_NEAR(z.out[1], 3.5, 1e-6);
}

TEST(Options, Sinks) {
  Zeros z;
  const float sink = std::log(2.0f);
  const Tensor sinks(&sink, {1});
  z.options.sinks = &sinks;
  ASSERT_TRUE(z.run());
  EXPECT_NEAR(z.out[0], 1.5, 1e-6);
}

TEST(Options, BiasThatIsAddedOrHides) {
  Zeros z;
  const float added[] = {0, std::log(3.0f)};
  const Tensor bias(added, {1, 1, 1, 2});
  z.options.bias = &bias;
  ASSERT_TRUE(z.run());
  EXPECT_NEAR(z.out[0], 3.5, 1e-6);
  const bool seen[] = {true, false, false, false};
  const Tensor mask(seen, flashfit::kBool, {1, 1, 2, 2});
  z.options.bias = &mask;
  ASSERT_TRUE(z.run());
  EXPECT_EQ(z.out[0], 2);
  EXPECT_EQ(z.out[1], 0);
}

TEST(Options, UsedKeys) {
  Zeros z;
  const std::int32_t one = 1;
  const Tensor used(&one, {1});
  z.options.seqused_k = &used;
  z.options.batch_invariant = true;
  ASSERT_TRUE(z.run());
  EXPECT_EQ(z.out[0], 2);
  EXPECT_EQ(z.out[1], 2);
}

TEST(Options, ValuesMayBeWider) {
  const float q = 1, k = 1, v[3] = {1, 2, 3};
  float out[3] = {};
  ASSERT_TRUE(flashfit::attention(Tensor(&q, {1, 1, 1, 1}), Tensor(&k, {1, 1, 1, 1}), Tensor(v, {1, 1, 1, 3}),
                                  Tensor(out, {1, 1, 1, 3})));
  EXPECT_EQ(out[2], 3);
}

TEST(Options, OfAQuestion) {
  flashfit::Question question;
  question.seqlen_q = question.seqlen_k = 100;
  question.head_dim_v = 32;
  question.window = flashfit::Window{5, 7};
  question.softcap = question.alibi = question.batch_invariant = question.unaligned = true;
  question.bias = "bool";
  const flashfit_explain_args args = question.c();
  EXPECT_EQ(args.flags, static_cast<std::uint32_t>(FLASHFIT_WINDOW | FLASHFIT_SOFTCAP | FLASHFIT_ALIBI |
                                                   FLASHFIT_BATCH_INVARIANT | FLASHFIT_UNALIGNED));
  EXPECT_EQ(args.head_dim_v, 32);
  EXPECT_EQ(args.window_left, 5);
  EXPECT_EQ(args.window_right, 7);
  EXPECT_STREQ(args.bias, "bool");
}

TEST(Attention, ErrorsAreValues) {
  Small s;
  const auto done = flashfit::attention(s.tq, Tensor(s.k, {1, 2, 1, 1}), s.tv, s.to);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().status, FLASHFIT_INVALID_ARGUMENT);
  EXPECT_EQ(done.error().message, "k: shape is (1, 2, 1, 1); accepted: head_dim 2, as q");
  EXPECT_EQ(flashfit::name_of(done.error().status), "FLASHFIT_INVALID_ARGUMENT");
  EXPECT_THROW(done.value(), flashfit::BadExpectedAccess);
  const auto bytes = flashfit::workspace(s.tq, Tensor(s.k, {1, 2, 1, 1}), s.tv, s.to);
  ASSERT_FALSE(bytes);
  EXPECT_EQ(bytes.value_or(7u), 7u);
  try {
    (void)bytes.value();
    ADD_FAILURE();
  } catch (const flashfit::BadExpectedAccess& e) {
    EXPECT_STREQ(e.what(), done.error().message.c_str());
  }
  const Tensor gpu(s.q, {1, 2, 1, 2}, flashfit::cuda(1));
  EXPECT_EQ(flashfit::attention(s.tq, gpu, s.tv, s.to).error().message,
            "k: device is cuda:1; accepted: cpu, where q is");
}

TEST(Expecting, ChainsAndMoves) {
  const Expected<int> two = 2, none = flashfit::Error{FLASHFIT_MISFIT, "no"};
  const auto doubled = [](int x) -> Expected<int> { return 2 * x; };
  EXPECT_EQ(*two.and_then(doubled).and_then(doubled), 8);
  EXPECT_EQ(none.and_then(doubled).error().message, "no");
  Expected<std::unique_ptr<int>> owner = std::make_unique<int>(3);
  EXPECT_EQ(*std::move(owner).value(), 3);
  Expected<std::string> text = std::string("abc");
  EXPECT_EQ(text->size(), 3u);
}

TEST(DLPack, IsTakenOverAndGivenBack) {
  static int deleted = 0;
  deleted = 0;
  static float memory[3] = {0, 1, 2};
  static std::int64_t shape[2] = {1, 2}, strides[2] = {2, 1};
  auto* managed = new DLManagedTensor{};
  managed->dl_tensor = {memory, {kDLCPU, 0}, 2, flashfit::kFp32, shape, strides, 4};
  managed->deleter = [](DLManagedTensor* m) {
    ++deleted;
    delete m;
  };
  {
    std::optional<Tensor> first(managed);
    const Tensor second = *first;
    first.reset();
    EXPECT_EQ(second.data(), memory + 1);
    EXPECT_EQ(second.shape(), (std::vector<std::int64_t>{1, 2}));
    EXPECT_EQ(second.strides(), (std::vector<std::int64_t>{2, 1}));
    EXPECT_EQ(second.dl().ndim, 2);
    EXPECT_EQ(deleted, 0);
  }
  EXPECT_EQ(deleted, 1);
}

TEST(Explaining, PlansAndDocuments) {
  flashfit::Question question;
  question.gpu = "all";
  question.seqlen_q = question.seqlen_k = 512;
  question.head_dim = 128;
  question.block_m = question.block_n = 128;
  const auto plans = flashfit::explain(question);
  ASSERT_TRUE(plans) << plans.error().message;
  ASSERT_GT(plans->size(), 10u);
  int fit = 0;
  for (const flashfit::Plan& plan : *plans) fit += plan.fits;
  EXPECT_GT(fit, 0);
  EXPECT_LT(fit, static_cast<int>(plans->size()));
  EXPECT_NE(flashfit::explain_json(question)->find("\"L4\""), std::string::npos);
  question.gpu = "Voodoo 2";
  EXPECT_EQ(flashfit::explain(question).error().status, FLASHFIT_INVALID_ARGUMENT);
  EXPECT_EQ(flashfit::explain_json(question).error().status, FLASHFIT_INVALID_ARGUMENT);
}

TEST(Routing, ChoosesExpertsAndAnswersQuestions) {
  const float logits[] = {0, 3, 3, 1};
  float weights[2] = {};
  std::int32_t ids[2] = {};
  const flashfit::Tensor l(logits, {1, 4}), w(weights, {1, 2}), i(ids, {1, 2});
  flashfit::RouteOptions options;
  options.renormalize = true;
  ASSERT_TRUE(flashfit::moe_route_prepare(l, w, i, options));
  ASSERT_TRUE(flashfit::moe_route(l, w, i, options));
  EXPECT_EQ(ids[0], 1);
  EXPECT_EQ(ids[1], 2);
  EXPECT_EQ(weights[0], 0.5f);
  options.topk_first = true;
  options.renormalize = false;
  ASSERT_TRUE(flashfit::moe_route(l, w, i, options));
  EXPECT_EQ(weights[1], 0.5f);
  const auto wrong = flashfit::moe_route(l, w, l, options);
  ASSERT_FALSE(wrong);
  EXPECT_EQ(wrong.error().status, FLASHFIT_INVALID_ARGUMENT);

  flashfit::RouteQuestion question;
  question.gpu = "L4", question.experts = 8, question.top_k = 2;
  EXPECT_NE(flashfit::moe_route_explain_json(question)->find("moe.route"), std::string::npos);
  question.top_k = 9;
  EXPECT_EQ(flashfit::moe_route_explain_json(question).error().message, "top_k: 9; accepted: 1 to 8");

  flashfit::ExpertsQuestion layer;
  layer.gpu = "L4", layer.experts = 8, layer.top_k = 2, layer.hidden = 64, layer.intermediate = 32;
  EXPECT_NE(flashfit::fused_moe_explain_json(layer)->find("moe.experts"), std::string::npos);
  layer.options.experts_high = 9;
  EXPECT_EQ(flashfit::fused_moe_explain_json(layer).error().message,
            "experts_low: 0, experts_high: 9; accepted: 0 <= experts_low < experts_high <= 8, or both 0");
}

TEST(Library, SaysWhatItIs) {
  EXPECT_EQ(flashfit::version(),
            FLASHFIT_VERSION_MAJOR * 10000u + FLASHFIT_VERSION_MINOR * 100 + FLASHFIT_VERSION_PATCH);
  EXPECT_TRUE(flashfit::has_feature("cpu.fp32"));
  EXPECT_FALSE(flashfit::has_feature("teleport"));
  EXPECT_FALSE(flashfit::features().empty());
  EXPECT_EQ(flashfit::images_json()->front(), '[');
  EXPECT_EQ(flashfit::gpus_json()->front(), '{');
}

}  // namespace
