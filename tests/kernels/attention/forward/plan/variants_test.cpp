// Which variants a problem gets: the narrowest that serves, general ones only where their options are asked for, and
// for batch-invariant calls one that knows nothing of the batch.
#include <gtest/gtest.h>

#include <string>
#include <type_traits>

#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/catalogue.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/plan/problems.hpp"
#include "kernels/attention/forward/plan/steps.hpp"

namespace flashfit {
namespace {

using test::dense;
using test::ragged;

const std::vector<Image> kAll = test::full_catalogue();

ForwardPlan planned(const ForwardProblem& p, const Gpu& gpu) { return plan_forward(p, gpu, 0, kAll).value(); }
const ForwardConfig& chosen(const ForwardProblem& p, const Gpu& gpu) { return planned(p, gpu).variant->config; }

struct Padded {
  int head_dim, head_dim_v, padded, padded_v;
};

void expect_padded(const char* gpu_name, DType dtype, std::initializer_list<Padded> cases) {
  const Gpu gpu = find_gpu(gpu_name).value();
  for (const Padded& want : cases) {
    const ForwardConfig& c =
        chosen(dense({.dtype = dtype, .head_dim = want.head_dim, .head_dim_v = want.head_dim_v}), gpu);
    EXPECT_EQ(c.head_dim, want.padded) << gpu_name << " head_dim " << want.head_dim;
    EXPECT_EQ(c.head_dim_v, want.padded_v) << gpu_name << " head_dim_v " << want.head_dim_v;
  }
}

TEST(Variants, PaddingTakesTheNarrowestThatServes) {
  // On 9.0 a wider variant over wgmma may be the faster one.
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const char* gpu : {"A100", "L4", "B200", "RTX 5090", "Orin"})
      expect_padded(gpu, dtype,
                    {{8, 8, 32, 32},
                     {32, 32, 32, 32},
                     {40, 40, 64, 64},
                     {72, 72, 96, 96},
                     {104, 104, 128, 128},
                     {136, 136, 160, 160},
                     {168, 168, 192, 192},
                     {192, 128, 192, 128},
                     {160, 64, 192, 128},
                     {192, 136, 192, 192},
                     {64, 128, 128, 128},
                     {200, 200, 256, 256},
                     {576 - 64, 512, 512, 512}});
  expect_padded("T4", DType::kF16, {{8, 8, 32, 32}, {40, 40, 64, 64}, {72, 72, 128, 128}, {136, 136, 256, 256}});
}

TEST(Variants, GeneralOnesOnlyWhereTheirOptionsAreAskedFor) {
  const Gpu a100 = find_gpu("A100").value();
  const auto kind = [&](const auto& ask) {
    ForwardProblem p = dense({.head_dim = 64});
    ask(p);
    return chosen(p, a100).kind;
  };
  EXPECT_EQ(kind([](ForwardProblem& p) { p.softcap = true; }), ForwardKind::kGeneral);
  EXPECT_EQ(kind([](ForwardProblem& p) { p.alibi = true; }), ForwardKind::kGeneral);
  EXPECT_EQ(kind([](ForwardProblem& p) { p.unaligned = true; }), ForwardKind::kGeneral);
  for (const BiasKind bias : {BiasKind::kVisible, BiasKind::kLikeQ, BiasKind::kF32})
    EXPECT_EQ(kind([&](ForwardProblem& p) { p.bias = bias; }), ForwardKind::kGeneral);
  EXPECT_EQ(kind([](ForwardProblem& p) { p.head_dim = 60; }), ForwardKind::kGeneral);
  EXPECT_EQ(kind([](ForwardProblem& p) { p.head_dim_v = 60; }), ForwardKind::kGeneral);
  EXPECT_EQ(kind([](ForwardProblem& p) { p.causal = true; }), ForwardKind::kPlain);
  EXPECT_EQ(kind([](ForwardProblem& p) { p.window_left = 100; }), ForwardKind::kPlain);
  EXPECT_EQ(kind([](ForwardProblem& p) { p = ragged({.batch = 3}); }), ForwardKind::kPlain);
  for (int head_dim = 8; head_dim <= 256; head_dim += 8)
    EXPECT_EQ(chosen(dense({.head_dim = head_dim}), a100).kind, ForwardKind::kPlain) << head_dim;
  // Where plain variants end, general ones serve plain problems.
  EXPECT_EQ(chosen(dense({.head_dim = 264}), a100).kind, ForwardKind::kGeneral);
  EXPECT_EQ(chosen(dense({.head_dim = 256}), find_gpu("T4").value()).kind, ForwardKind::kGeneral);
}

TEST(Variants, OfTheGeneralOptionsSoftcapAloneAndNarrowAlibiOrBiasAloneTakeWgmma) {
  const Gpu h100 = find_gpu("H100").value();
  const auto asked = [&](int head_dim, const auto& ask) {
    ForwardProblem p = dense({.head_dim = head_dim, .batch = 4, .heads = 16});
    p.softcap = true;
    ask(p);
    return chosen(p, h100);
  };
  const auto nothing_more = [](ForwardProblem&) {};
  for (const auto& [head_dim, padded] :
       {std::pair{24, 32}, {32, 32}, {40, 64}, {64, 64}, {96, 128}, {128, 128}, {192, 256}, {256, 256}}) {
    const ForwardConfig& c = asked(head_dim, nothing_more);
    EXPECT_EQ(c.engine, ForwardEngine::kWgmma) << head_dim;
    EXPECT_EQ(c.kind, ForwardKind::kGeneral) << head_dim;
    EXPECT_EQ(c.head_dim, padded) << head_dim;
  }
  EXPECT_EQ(asked(128, [](ForwardProblem& p) { p.window_left = 4095, p.causal = true; }).engine, ForwardEngine::kWgmma);
  const auto alibi = [](ForwardProblem& p) { p.softcap = false, p.alibi = p.causal = true; };
  for (const auto& [head_dim, padded] : {std::pair{32, 32}, {40, 64}, {64, 64}, {96, 128}, {128, 128}}) {
    const ForwardConfig& c = asked(head_dim, alibi);
    EXPECT_EQ(c.engine, ForwardEngine::kWgmma) << head_dim;
    EXPECT_EQ(c.kind, ForwardKind::kAlibi) << head_dim;
    EXPECT_EQ(c.head_dim, padded) << head_dim;
  }
  for (const int head_dim : {136, 256}) EXPECT_EQ(asked(head_dim, alibi).engine, ForwardEngine::kMma) << head_dim;
  EXPECT_EQ(asked(128, [](ForwardProblem& p) { p.alibi = true; }).engine, ForwardEngine::kMma);  // softcap, too
  const auto alibi_and = [&](const auto& ask) { return asked(128, [&](ForwardProblem& p) { alibi(p), ask(p); }); };
  EXPECT_EQ(alibi_and([](ForwardProblem& p) { p.bias = BiasKind::kLikeQ; }).engine, ForwardEngine::kMma);
  EXPECT_EQ(alibi_and([](ForwardProblem& p) { p.unaligned = true; }).engine, ForwardEngine::kMma);
  EXPECT_EQ(alibi_and([](ForwardProblem& p) { p.no_tensor_maps = true; }).engine, ForwardEngine::kMma);
  EXPECT_EQ(asked(128, [](ForwardProblem& p) { p.bias = BiasKind::kLikeQ; }).engine, ForwardEngine::kMma);  // softcap
  const auto biased = [&](int width, BiasKind kind, const auto& ask) {
    return asked(width, [&](ForwardProblem& p) { p.softcap = false, p.bias = kind, ask(p); });
  };
  for (const BiasKind kind : {BiasKind::kVisible, BiasKind::kLikeQ, BiasKind::kF32}) {
    for (const auto& [head_dim, padded] : {std::pair{32, 32}, {40, 64}, {64, 64}, {96, 128}, {128, 128}}) {
      const ForwardConfig& c = biased(head_dim, kind, [](ForwardProblem&) {});
      EXPECT_EQ(c.engine, ForwardEngine::kWgmma) << head_dim;
      EXPECT_EQ(c.kind, ForwardKind::kBias) << head_dim;
      EXPECT_EQ(c.head_dim, padded) << head_dim;
    }
    EXPECT_EQ(biased(136, kind, [](ForwardProblem&) {}).engine, ForwardEngine::kMma);
    EXPECT_EQ(biased(128, kind, [](ForwardProblem& p) { p.bias_by_element = true; }).engine, ForwardEngine::kMma);
    EXPECT_EQ(biased(128, kind, [](ForwardProblem& p) { --p.seqlen_k; }).engine, ForwardEngine::kMma);
    EXPECT_EQ(biased(128, kind, [](ForwardProblem& p) { p.alibi = true; }).engine, ForwardEngine::kMma);
  }
  EXPECT_EQ(asked(128, [](ForwardProblem& p) { p.unaligned = true; }).engine, ForwardEngine::kMma);
  EXPECT_EQ(asked(128, [](ForwardProblem& p) { p.no_tensor_maps = true; }).engine, ForwardEngine::kMma);
  EXPECT_EQ(asked(100, nothing_more).engine, ForwardEngine::kMma);
}

TEST(Variants, BlocksTakeHeadsOfShortSequences) {
  const Gpu h100 = find_gpu("H100").value();
  const test::Sizes sizes{.dtype = DType::kBF16, .batch = 32, .heads = 32, .queries = 512, .causal = true};
  const auto whole = [&](const auto& ask) {
    test::Sizes s = sizes;
    ForwardProblem p;
    if constexpr (std::is_invocable_v<decltype(ask), test::Sizes&>)
      ask(s), p = dense(s);
    else
      p = dense(s), ask(p);
    return takes_heads(chosen(p, h100));
  };
  EXPECT_TRUE(whole([](test::Sizes&) {}));
  EXPECT_TRUE(whole([](test::Sizes& s) { s.dtype = DType::kF16, s.head_dim = 40; }));
  EXPECT_TRUE(whole([](test::Sizes& s) { s.heads_kv = 8; }));
  EXPECT_TRUE(whole([](test::Sizes& s) { s.heads_kv = 8, s.head_dim = 128; }));
  EXPECT_TRUE(whole([](ForwardProblem& p) { p.sinks = true; }));
  // Where the other kernel is faster: two heads for some blocks and one for most; many keys.
  EXPECT_FALSE(whole([](test::Sizes& s) { s.batch = 5; }));
  EXPECT_TRUE(whole([](test::Sizes& s) { s.causal = false; }));
  EXPECT_TRUE(whole([](test::Sizes& s) { s.causal = false, s.head_dim = 128, s.heads_kv = 8; }));
  EXPECT_FALSE(whole([](test::Sizes& s) { s.batch = 1, s.queries = 16384; }));
  EXPECT_TRUE(whole([](test::Sizes& s) { s.head_dim = 128, s.batch = 8, s.heads = 16, s.queries = 2048; }));
  EXPECT_FALSE(whole([](test::Sizes& s) { s.head_dim = 128, s.batch = 1, s.heads = 16, s.queries = 16384; }));
  // What it does not take.
  EXPECT_FALSE(whole([](ForwardProblem& p) { p.used_keys = true; }));
  EXPECT_FALSE(whole([](ForwardProblem& p) { p.window_left = 400; }));
  EXPECT_FALSE(whole([](ForwardProblem& p) { p.softcap = true; }));
  EXPECT_FALSE(whole([](ForwardProblem& p) { p.variable_length = true; }));
}

// Raced on an H100 (docs/hopper-options.md, "Head_dim 32").
TEST(Variants, NarrowHeadsTakeTheTileThatIsFastest) {
  const Gpu h100 = find_gpu("H100").value();
  const auto tile = [&](test::Sizes s, int window_right = -1) {
    s.head_dim = 32;
    ForwardProblem p = dense(s);
    p.window_right = window_right;
    const ForwardConfig& c = chosen(p, h100);
    EXPECT_EQ(c.head_dim, 32);
    return std::string(c.engine == ForwardEngine::kWgmma ? "wgmma " : "mma ") + std::to_string(c.block_m) + "x" +
           std::to_string(c.block_n);
  };
  for (const DType dtype : {DType::kF16, DType::kBF16}) {
    EXPECT_EQ(tile({.dtype = dtype, .batch = 1, .heads = 16, .queries = 16384, .causal = true}), "wgmma 192x128");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 8, .heads = 32, .queries = 2048, .causal = true}), "wgmma 256x64");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 32, .heads = 32, .queries = 512, .causal = true}), "wgmma 256x64");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 32, .heads = 32, .queries = 512}), "wgmma 256x64");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 16, .heads = 32, .queries = 1024}), "wgmma 256x80");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 1, .heads = 16, .queries = 16384}), "wgmma 256x80");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 16, .heads = 16, .queries = 4096, .keys = 77}), "wgmma 256x80");
    EXPECT_EQ(tile({.dtype = dtype, .batch = 4, .heads = 16, .queries = 197}), "mma 64x64");
    // Rows that see nothing of their first tile are slow.
    EXPECT_NE(tile({.dtype = dtype, .batch = 16, .heads = 32, .queries = 1024}, 8), "wgmma 256x80");
  }
}

// The order of the rules, apart from what the model happens to say of the variants that there are.
TEST(Better, CodeThenPaddingThenKindThenTime) {
  constexpr Target kSass[] = {{80, Target::Kind::kSass}}, kPtx[] = {{80, Target::Kind::kPtx}};
  ForwardVariant narrow{tile_config(DType::kF16, 64, 64, 64, 4), kSass}, wide = narrow, wide_v = narrow,
                                                                         general = narrow, alibi = narrow;
  wide.config.head_dim = wide.config.head_dim_v = 128;
  wide_v.config.head_dim = 96;
  general.config.kind = ForwardKind::kGeneral;
  alibi.config.kind = ForwardKind::kAlibi;
  const auto plan = [](const ForwardVariant& variant, const Image& image, double microseconds) {
    ForwardPlan p{};
    p.variant = &variant, p.steps.add({.image = &image}), p.model.microseconds = microseconds;
    return p;
  };
  const KernelVariant kernel = kernel_variant_of(narrow);
  const Image sass = test::synthetic_image(kernel, kSass[0]), ptx = test::synthetic_image(kernel, kPtx[0]);
  const auto expect_better = [](const ForwardPlan& a, const ForwardPlan& b) {
    EXPECT_TRUE(better(a, b));
    EXPECT_FALSE(better(b, a));
  };
  expect_better(plan(wide, sass, 9), plan(narrow, ptx, 1));
  expect_better(plan(narrow, sass, 9), plan(wide, sass, 1));
  expect_better(plan(narrow, sass, 9), plan(wide_v, sass, 1));
  expect_better(plan(general, sass, 9), plan(wide, sass, 1));
  expect_better(plan(narrow, sass, 9), plan(general, sass, 1));
  expect_better(plan(narrow, sass, 9), plan(alibi, sass, 1));
  expect_better(plan(general, sass, 9), plan(alibi, sass, 1));
  expect_better(plan(narrow, sass, 1), plan(narrow, sass, 9));
}

TEST(BatchInvariant, DenseCallsChooseAsForOneSequenceAlone) {
  int differ_otherwise = 0;
  for (const Gpu& gpu : gpu_table()) {
    if (gpu.cc < ComputeCapability{7, 5}) continue;
    for (const int head_dim : {32, 64, 96, 128, 256})
      for (const std::int64_t queries : {1, 65, 512, 2048}) {
        test::Sizes s{.head_dim = head_dim, .heads = 8, .heads_kv = 2, .queries = queries, .keys = 8192};
        const auto plan = [&](bool invariant) {
          ForwardProblem p = dense(s);
          p.batch_invariant = invariant;
          return planned(p, gpu);
        };
        const ForwardPlan one = plan(true), ordinary = plan(false);
        EXPECT_EQ(one.variant, ordinary.variant);
        EXPECT_EQ(one.splits, ordinary.splits);
        for (const std::int64_t batch : {2, 17, 256}) {
          s.batch = batch;
          const ForwardPlan many = plan(true), other = plan(false);
          EXPECT_EQ(many.variant, one.variant) << gpu.name << " batch " << batch << " queries " << queries;
          EXPECT_EQ(many.splits, one.splits) << gpu.name << " batch " << batch << " queries " << queries;
          EXPECT_EQ(many.split_tiles, one.split_tiles);
          EXPECT_EQ(many.slots, batch * one.slots);
          EXPECT_EQ(many.workspace_bytes, batch * one.workspace_bytes);
          differ_otherwise += other.variant != one.variant || other.splits != one.splits;
        }
      }
  }
  EXPECT_GT(differ_otherwise, 100);  // a choice that looks at the batch would be seen
}

TEST(Counter, IsSharedByBlocksOverWgmmaWhereLengthsDifferAndThereIsMoreThanATileEach) {
  const Gpu h100 = find_gpu("H100").value();
  const ForwardPlan many =
      planned(ragged({.head_dim = 128, .batch = 36, .heads = 20, .queries = 40000, .keys = 40000}), h100);
  ASSERT_EQ(many.variant->config.engine, ForwardEngine::kWgmma);
  EXPECT_EQ(many.steps[0].cleared, (Step::Cleared{.words = 1, .address_at = int{offsetof(WgmmaForwardParams, taken)}}));
  EXPECT_EQ(many.workspace_bytes, sizeof(int));
  const ForwardPlan equal =
      planned(dense({.head_dim = 128, .batch = 36, .heads = 20, .queries = 1111, .keys = 1111}), h100);
  ASSERT_EQ(equal.variant->config.engine, ForwardEngine::kWgmma);
  EXPECT_FALSE(shares_counter(equal.steps));
  EXPECT_EQ(equal.workspace_bytes, 0u);
}

TEST(BatchInvariant, RaggedCallsLookAtNoLengthAndNeverSplit) {
  int differ_otherwise = 0;
  for (const Gpu& gpu : gpu_table()) {
    if (gpu.cc < ComputeCapability{7, 5}) continue;
    for (const int head_dim : {64, 104, 152, 208}) {
      const ForwardVariant* first = nullptr;
      for (const std::int64_t batch : {1, 3, 64})
        for (const std::int64_t queries : {1, 64, 5000, 100000})
          for (const std::int64_t keys : {64, 8192, 400000}) {
            ForwardProblem p = ragged({.head_dim = head_dim, .batch = batch, .queries = batch * queries, .keys = keys});
            const ForwardPlan other = planned(p, gpu);
            p.batch_invariant = true;
            const ForwardPlan plan = planned(p, gpu);
            if (first == nullptr) first = plan.variant;
            EXPECT_EQ(plan.variant, first) << gpu.name << " batch " << batch << " queries " << queries;
            EXPECT_EQ(plan.splits, 1);
            EXPECT_EQ(plan.workspace_bytes, shares_counter(plan.steps) ? sizeof(int) : 0u);
            differ_otherwise += other.variant != first || other.splits != 1;
          }
    }
  }
  EXPECT_GT(differ_otherwise, 100);
}

TEST(Variants, HeadsThatEndBetweenSectorsTakeTilesThatCopyFewOfThem) {
  const Gpu h100 = find_gpu("H100").value();
  const auto asked = [&](int head_dim, bool causal, int queries) {
    return chosen(dense({.head_dim = head_dim, .batch = 8, .heads = 16, .queries = queries, .causal = causal}), h100);
  };
  for (const bool causal : {false, true}) {
    for (const int head_dim : {104, 120}) EXPECT_EQ(asked(head_dim, causal, 2048).block_m, 192) << head_dim;
    for (const int head_dim : {136, 144, 160}) EXPECT_EQ(asked(head_dim, causal, 2048).head_dim, 160) << head_dim;
    for (const int head_dim : {200, 208, 224}) EXPECT_EQ(asked(head_dim, causal, 2048).head_dim, 224) << head_dim;
  }
  EXPECT_FALSE(copies_from_sectors(asked(128, true, 2048)));
  EXPECT_EQ(asked(160, false, 64).head_dim, 192);  // whose keys can be cut
}

}  // namespace
}  // namespace flashfit
