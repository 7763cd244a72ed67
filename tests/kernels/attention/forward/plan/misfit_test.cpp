// Every misfit says the GPU, the value and what binds.
#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/plan/problems.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"

namespace flashfit {
namespace {

using test::dense;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::vector<Image> kAll = test::full_catalogue();

Error refusal(const ForwardProblem& problem, const char* gpu, CudaVersion driver = 0,
              std::span<const Image> images = kAll, const PlanOptions& options = {}) {
  const auto plan = plan_forward(problem, find_gpu(gpu).value(), driver, images, options);
  return plan ? Error{Code::kInternal, "a plan: " + name_of(plan->variant->config)} : plan.error();
}

void expect_misfit(const Error& error, const std::string& part) {
  EXPECT_EQ(error.code, Code::kMisfit) << error.message;
  EXPECT_THAT(error.message, AllOf(HasSubstr(part), Not(HasSubstr("\n"))));
}

TEST(Misfit, DtypesThatTheGpuLacks) {
  expect_misfit(refusal(dense({.dtype = DType::kBF16}), "T4"), "dtype bf16: T4 (7.5) has no bf16 tensor cores");
  expect_misfit(refusal(dense({.dtype = DType::kF32}), "L4"),
                "dtype fp32: runs on the CPU only; on L4 (8.9) use fp16 or bf16");
  expect_misfit(refusal(dense({.dtype = DType::kF32}), "T4"), "use fp16");
}

TEST(Misfit, HeadDimsThatAreNotCarried) {
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const int head_dim : {513, 520, 1 << 20}) {
      const std::string type = name_of(dtype), asked = type + " head_dim " + std::to_string(head_dim);
      const Error error = refusal(dense({.dtype = dtype, .head_dim = head_dim}), "A100");
      expect_misfit(error, asked);
      expect_misfit(error, ": carried for " + type + " are head_dims to 512");
    }
  for (const int head_dim : {1, 16, 63, 96, 256, 257, 512})
    EXPECT_TRUE(plan_forward(dense({.head_dim = head_dim}), find_gpu("A100").value(), 0, kAll)) << head_dim;
}

TEST(Misfit, OptionsHaveTheGeneralRowsHeadDims) {
  ForwardProblem p = dense({.head_dim = 512});
  p.softcap = true;
  EXPECT_TRUE(plan_forward(p, find_gpu("A100").value(), 0, kAll));
  std::vector<Image> plain = kAll;
  std::erase_if(plain,
                [](const Image& i) { return forward_variant_of(*i.variant).config.kind == ForwardKind::kGeneral; });
  expect_misfit(refusal(dense({.head_dim = 264}), "A100", 0, plain),
                "fp16 head_dim 264: carried for fp16 are head_dims to 256");
  expect_misfit(refusal(p, "A100", 0, plain), "fp16 head_dim 512 with what plain variants do not do");
  // Turing's machine code stops at 256; PTX of it would not, but there is none of 512.
  expect_misfit(refusal(p, "T4"), "T4 (7.5) is older than every image of fp16 head_dim 512 with what plain variants");
}

TEST(Misfit, VWiderThanEveryRowOfThatHeadDim) {
  expect_misfit(refusal(dense({.head_dim = 64, .head_dim_v = 513}), "A100"),
                "fp16 head_dim 64 (v 513) with what plain variants do not do (softcap, ALiBi, bias, unaligned rows): "
                "carried for fp16 are head_dims to 512");
  EXPECT_TRUE(plan_forward(dense({.head_dim = 64, .head_dim_v = 512}), find_gpu("A100").value(), 0, kAll));
}

TEST(Misfit, GpusOlderThanEveryImage) {
  expect_misfit(refusal(dense({}), "V100"),
                "V100 (7.0) is older than every image of fp16 head_dim 64: carried are 7.5, 7.5+PTX, 8.0,");
}

TEST(Misfit, BuildsThatCarryOtherTargets) {
  const auto hopper = test::catalogue_of({90, Target::Kind::kSass});
  expect_misfit(refusal(dense({}), "L4", 0, hopper),
                "L4 (8.9) is older than every image of fp16 head_dim 64: carried are 9.0");
  expect_misfit(refusal(dense({}), "RTX 5090", 0, hopper),
                "RTX 5090 (12.0) can load no image of fp16 head_dim 64: carried are 9.0");
  expect_misfit(refusal(dense({}), "L4", 0, {}),
                "dtype fp16: this build of flashfit carries no image for it (0 images in all)");
  const auto turing = test::catalogue_of({75, Target::Kind::kSass});
  expect_misfit(refusal(dense({.dtype = DType::kBF16}), "L4", 0, turing),
                "dtype bf16: this build of flashfit carries no image for it");
}

TEST(Misfit, Drivers) {
  expect_misfit(refusal(dense({}), "L4", 11080),
                "driver: CUDA 11.8 is too old for flashfit's images; CUDA 12.0 (driver 525) or newer is needed");
  expect_misfit(refusal(dense({}), "Orin", 12060),
                "only PTX (7.5+PTX, 8.0+PTX) fits Orin (8.7), and CUDA 12.6 cannot compile it; CUDA 12.9 (driver 575)");
  expect_misfit(refusal(dense({}), "B200", 12020),
                "driver: CUDA 12.2 does not know B200 (10.0); CUDA 12.8 (driver 570) or newer is needed");
  expect_misfit(refusal(dense({}), "Orin", 12080), "CUDA 12.8 cannot compile it");
  EXPECT_TRUE(plan_forward(dense({}), find_gpu("Orin").value(), 12090, kAll));
  EXPECT_TRUE(plan_forward(dense({}), find_gpu("L4").value(), 12000, kAll));
  EXPECT_TRUE(plan_forward(dense({}), find_gpu("RTX 5090").value(), 12080, kAll));
}

TEST(Misfit, SharedMemory) {
  const Target anywhere[] = {{80, Target::Kind::kSass}};
  const ForwardVariant large{tile_config(DType::kF16, 128, 128, 128, 4), anywhere};
  const KernelVariant variant = kernel_variant_of(large);
  const Image image = test::synthetic_image(variant, anywhere[0]);
  expect_misfit(
      refusal(dense({.head_dim = 128}), "L4", 0, {&image, 1}),
      "shared memory: the smallest block of fp16 head_dim 128 takes 163840 B, L4 (8.9) gives a block 101376 B");
  EXPECT_TRUE(plan_forward(dense({.head_dim = 128}), find_gpu("A100").value(), 0, {&image, 1}));
}

TEST(Misfit, TooManyBlocksOrRows) {
  expect_misfit(refusal(dense({.batch = 1 << 24, .heads = 65536}), "H100"), "more than 2147483647 thread blocks");
  expect_misfit(refusal(dense({.batch = INT64_MAX / 2, .queries = 1}), "H100"), "thread blocks");
  expect_misfit(refusal(dense({.queries = kMaxRows + 1}), "H100"), "seqlen 1073741825: at most 1073741824 rows");
  EXPECT_TRUE(plan_forward(dense({.heads = 1, .queries = kMaxRows}), find_gpu("H100").value(), 0, kAll));
}

TEST(Misfit, PtxAlone) {
  const auto sass = test::catalogue_of({89, Target::Kind::kSass});
  expect_misfit(refusal(dense({}), "L4", 0, sass, {.ptx_only = true}),
                "PTX only: no PTX of fp16 head_dim 64 that L4 (8.9) takes; carried are 8.9");
  expect_misfit(refusal(dense({}), "L4", 12020, kAll, {.ptx_only = true}), "CUDA 12.9 (driver 575) or newer");
  const auto plan = plan_forward(dense({}), find_gpu("L4").value(), 0, kAll, {.ptx_only = true});
  ASSERT_TRUE(plan);
  EXPECT_EQ(plan->image().target.str(), "8.0+PTX");
}

TEST(Forced, RowsByName) {
  for (const ForwardVariant& variant : forward_variants()) {
    const std::string name = name_of(variant.config);
    const ForwardConfig& c = variant.config;
    const auto plan = plan_forward(
        dense({.dtype = c.dtype, .head_dim = c.head_dim, .head_dim_v = c.head_dim_v, .heads_kv = c.packs ? 2 : 8}),
        find_gpu(c.engine == ForwardEngine::kWgmma ? "H100" : "A100").value(), 0, kAll, {.variant = name});
    ASSERT_TRUE(plan) << name << ": " << plan.error().message;
    EXPECT_EQ(plan->variant, &variant);
  }
}

TEST(Forced, PartsOfTheKeysFollowAName) {
  const ForwardProblem p = dense({.heads = 4, .queries = 3, .keys = 1000});
  for (const ForwardVariant& variant : forward_variants()) {
    const ForwardConfig& c = variant.config;
    if (!serves(c, p)) continue;
    const char* const gpu = c.engine == ForwardEngine::kWgmma ? "H100" : "A100";
    const auto in_parts = [&](int parts) {
      const std::string name = fmt::format("{}/{}", name_of(c), parts);
      const auto plan = plan_forward(p, find_gpu(gpu).value(), 0, kAll, {.variant = name});
      return plan ? plan->splits : 0;
    };
    const bool runs = plan_forward(p, find_gpu(gpu).value(), 0, kAll, {.variant = name_of(c)}).has_value();
    EXPECT_EQ(in_parts(1), runs ? 1 : 0) << name_of(c);
    EXPECT_EQ(in_parts(3), !runs ? 0 : takes_parts(c) ? 3 : 1) << name_of(c);
    EXPECT_LE(in_parts(64), (1000 + c.block_n - 1) / c.block_n) << name_of(c);
  }
  const std::string name = name_of(forward_variants()[3].config);
  for (const char* parts : {"0", "65", "-1", "", "3x", "4/4", "99999999999"})
    EXPECT_EQ(refusal(p, "A100", 0, kAll, {.variant = name + "/" + parts}).message,
              fmt::format("variant '{}/{}': parts of the keys '{}'; accepted: 1 to 64", name, parts, parts));
  const ForwardProblem large = dense({.batch = 1 << 15, .heads = 64, .queries = 1024, .keys = 1024});
  EXPECT_THAT(refusal(large, "A100", 0, kAll, {.variant = name + "/2"}).message,
              HasSubstr("2147483648 rows of all heads; accepted with parts: up to 1073741824"));
  std::vector<Image> apart = kAll;
  std::erase_if(apart, [](const Image& i) { return i.variant->name == "combine_fp16"; });
  EXPECT_THAT(refusal(p, "A100", 0, apart, {.variant = name + "/2"}).message, HasSubstr("combines parts of keys"));
}

TEST(Forced, WholeHeadsAreOfSequencesOfOneLength) {
  const PlanOptions whole{.variant = "fwd_wgmma_bf16_d64_192x64_w12_s8_b1"};
  ForwardProblem p = dense({.dtype = DType::kBF16, .causal = true});
  ASSERT_TRUE(plan_forward(p, find_gpu("H100").value(), 0, kAll, whole));
  p.used_keys = true;
  EXPECT_THAT(refusal(p, "H100", 0, kAll, whole).message,
              HasSubstr("is for bf16 head_dim to 64, plain, of sequences of one length, all of whose keys are in use, "
                        "without a window to the left, the problem is bf16 head_dim 64, 8/8 heads with "
                        "seqused_k; "));
  p = test::ragged({.dtype = DType::kBF16, .causal = true});
  p.window_left = 5;
  EXPECT_THAT(refusal(p, "H100", 0, kAll, whole).message,
              HasSubstr("the problem is bf16 head_dim 64, 8/8 heads with variable length, a window to the left; "));
}

TEST(Forced, WrongNamesAreArgumentErrorsWithNamesThatWouldDo) {
  const auto named = [](int head_dim, ForwardKind kind) {
    for (const ForwardVariant& variant : forward_variants())
      if (variant.config.dtype == DType::kF16 && variant.config.head_dim == head_dim && variant.config.kind == kind)
        return name_of(variant.config);
    return std::string("no such variant");
  };
  const std::string d32 = named(32, ForwardKind::kPlain), d64 = named(64, ForwardKind::kPlain),
                    d128 = named(128, ForwardKind::kPlain), general = named(64, ForwardKind::kGeneral);
  const Error unknown = refusal(dense({}), "L4", 0, kAll, {.variant = "fwd_foo"});
  EXPECT_EQ(unknown.code, Code::kInvalidArgument);
  EXPECT_THAT(unknown.message,
              AllOf(HasSubstr("variant 'fwd_foo' is no variant of the table; for fp16 head_dim 64: "), HasSubstr(d64),
                    HasSubstr(d128), HasSubstr(general), Not(HasSubstr(d32))));  // wider and general ones would do
  const Error narrow = refusal(dense({}), "L4", 0, kAll, {.variant = d32});
  EXPECT_EQ(narrow.code, Code::kInvalidArgument);
  EXPECT_THAT(narrow.message, HasSubstr("is for fp16 head_dim to 32, plain, the problem is fp16 head_dim 64"));
  ForwardProblem softcap = dense({});
  softcap.softcap = true;
  const Error plain = refusal(softcap, "L4", 0, kAll, {.variant = d64});
  EXPECT_EQ(plain.code, Code::kInvalidArgument);
  EXPECT_THAT(plain.message, AllOf(HasSubstr("is for fp16 head_dim to 64, plain, the problem is fp16 head_dim 64, "
                                             "8/8 heads with softcap; "),
                                   HasSubstr(general), Not(HasSubstr(d128))));
  const std::string alibi = named(64, ForwardKind::kAlibi);
  EXPECT_THAT(plain.message, Not(HasSubstr(alibi)));
  const Error biased = refusal(softcap, "H100", 0, kAll, {.variant = named(64, ForwardKind::kBias)});
  EXPECT_THAT(biased.message,
              HasSubstr("is for fp16 head_dim to 64, plain or with a bias of dense keys, the problem is"));
  ForwardProblem single = dense({});
  single.bias = BiasKind::kF32, single.bias_by_element = true;
  EXPECT_THAT(refusal(single, "H100", 0, kAll, {.variant = named(64, ForwardKind::kBias)}).message,
              HasSubstr("the problem is fp16 head_dim 64, 8/8 heads with a bias of single elements; "));
  const Error capped = refusal(softcap, "H100", 0, kAll, {.variant = alibi});
  EXPECT_EQ(capped.code, Code::kInvalidArgument);
  EXPECT_THAT(capped.message, HasSubstr("is for fp16 head_dim to 64, plain or with ALiBi, the problem is fp16"));
}

TEST(Forced, RowsThatCannotRunAreMisfits) {
  const auto hopper = test::catalogue_of({90, Target::Kind::kSass});
  const std::string turing = name_of(forward_variants().back().config);
  expect_misfit(
      refusal(dense({.head_dim = forward_variants().back().config.head_dim}), "H100", 0, hopper, {.variant = turing}),
      "carries no image of it");
}

}  // namespace
}  // namespace flashfit
