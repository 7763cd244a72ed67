// The test tensors and the judge themselves: they must see what they are there to see.
#include "proof/reference/tensors.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <set>

#include "proof/reference/cases.hpp"

namespace flashfit::testing {
namespace {

TEST(Random, IsTheSameEverywhere) {
  // SplitMix64's published first outputs for seed 1234567.
  Random random(1234567);
  EXPECT_EQ(random.bits(), 6457827717110365317u);
  EXPECT_EQ(random.bits(), 3203168211198807973u);
}

TEST(Random, NormalHasMeanZeroAndDeviationOne) {
  Random random(7);
  double sum = 0, squares = 0;
  constexpr int kCount = 100000;
  for (int i = 0; i < kCount; ++i) {
    const double x = random.normal();
    sum += x, squares += x * x;
  }
  EXPECT_NEAR(sum / kCount, 0, 0.02);
  EXPECT_NEAR(squares / kCount, 1, 0.02);
}

TEST(Tensor, SeesWritesOutsideOfItsElements) {
  for (const Layout layout : {Layout::kBSHD, Layout::kBHSD, Layout::kPadded}) {
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
      Tensor t(dtype, layout, 2, 3, 2, 5);
      Random random(1);
      t.fill_normal(random);
      EXPECT_TRUE(t.red_zones_intact());
      t.storage->bytes[(t.origin - 1) * size_of(dtype)] = 0;
      EXPECT_EQ(t.written_outside(), -size_of(dtype));
      t.storage->bytes[(t.origin - 1) * size_of(dtype)] = 0xff;
      EXPECT_TRUE(t.red_zones_intact());
      t.storage->bytes.back() = 0;
      EXPECT_FALSE(t.red_zones_intact());
    }
  }
}

TEST(Tensor, PaddingBetweenRowsIsPoisoned) {
  Tensor t(DType::kF32, Layout::kPadded, 1, 2, 2, 4);
  t.set(0, 0, 0, 3, 1.5);
  EXPECT_EQ(t.get(0, 0, 0, 3), 1.5);
  EXPECT_TRUE(std::isnan(t.get(0, 0, 0, 4)));
  t.set(0, 0, 0, 4, 0);
  EXPECT_FALSE(t.red_zones_intact());
}

TEST(Cases, TheirProblemIsThatOfTheirData) {
  std::vector<ForwardCase> all = forward_cases(DType::kF16, 40, Size::kSmall);
  for (ForwardCase& spec : option_cases(DType::kBF16, 33)) all.push_back(std::move(spec));
  for (const Layout layout :
       {Layout::kBHSD, Layout::kPadded, Layout::kPackedQKV, Layout::kMixed, Layout::kUnaligned, Layout::kHeadStride0}) {
    all.push_back(all.front());
    all.back().layout = layout;
    all.back().heads_q = all.back().heads_kv = 2;
  }
  for (const bool in_pairs : {false, true}) {
    all.push_back(all.front());
    all.back().seqlens_k = {70};
    all.back().options.bias = {.kind = BiasKind::kLikeQ, .in_pairs = in_pairs};
  }
  int unaligned = 0;
  for (const ForwardCase& spec : all) {
    const ForwardProblem want = make_data(spec).call().problem;
    EXPECT_EQ(problem_of(spec), want) << spec.name;
    unaligned += want.unaligned;
  }
  EXPECT_GT(unaligned, 0);
}

TEST(Cases, WritesOutsideAreNamed) {
  ForwardCase spec;
  spec.seqlens_q = spec.seqlens_k = {3};
  ForwardData data = make_data(spec);
  EXPECT_EQ(data.written_outside(), "");
  data.lse.back() = 1;
  EXPECT_EQ(data.written_outside(), "byte 264 from the start of lse") << "3 rows and 63 values of a red zone";
  data.v.storage->bytes[data.v.origin * 2 - 6] = 1;
  EXPECT_EQ(data.written_outside(), "byte -6 from the start of v");
}

TEST(Cases, MixedLayoutSharesNoStride) {
  ForwardCase c;
  c.name = "mixed";
  c.heads_q = 4, c.heads_kv = 2;
  c.seqlens_q = c.seqlens_k = {5, 5};
  c.layout = Layout::kMixed;
  const ForwardData data = make_data(c);
  for (const auto& [a, b] : {std::pair{&data.q, &data.k}, {&data.k, &data.v}, {&data.q, &data.v}}) {
    EXPECT_NE(a->row_stride, b->row_stride);
    EXPECT_NE(a->head_stride, b->head_stride);
    EXPECT_NE(a->batch_stride, b->batch_stride);
  }
}

TEST(Cases, NamesAreUniqueAndEveryKindIsThere) {
  const std::vector<ForwardCase> cases = forward_cases(DType::kF16, 64, Size::kFull);
  std::set<std::string> names;
  int origin = 0, empty = 0;
  for (const ForwardCase& c : cases) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_THAT(c.name, ::testing::MatchesRegex("[a-z0-9_]+"));
    EXPECT_EQ(c.seqlens_q.size(), c.seqlens_k.size());
    origin += c.name.starts_with("origin_");
    for (const std::int64_t n : c.seqlens_k) empty += n == 0;
  }
  EXPECT_EQ(origin, 7);
  EXPECT_GT(empty, 4);
}

TEST(Cases, OptionsAreAllThereUnderNamesOfTheirOwn) {
  std::set<std::string> names;
  for (const ForwardCase& c : forward_cases(DType::kF16, 64, Size::kSmall)) names.insert(c.name);
  int left = 0, right = 0, softcap = 0, alibi = 0, sinks = 0, used = 0, dims = 0;
  std::set<BiasKind> kinds;
  for (const ForwardCase& c : option_cases(DType::kF16, 64)) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_THAT(c.name, ::testing::MatchesRegex("[a-z0-9_]+"));
    EXPECT_TRUE(c.options.bias.kind == BiasKind::kNone || !c.variable_length) << c.name;
    EXPECT_TRUE(c.options.seqused_k.empty() || c.options.seqused_k.size() == c.seqlens_k.size()) << c.name;
    left += c.options.window_left >= 0, right += c.options.window_right >= 0;
    softcap += c.options.softcap > 0;
    alibi += c.options.alibi != Slopes::kNone;
    sinks += c.options.sinks != Sinks::kNone;
    used += !c.options.seqused_k.empty();
    dims += c.dim_v() != c.head_dim;
    kinds.insert(c.options.bias.kind);
  }
  for (const int count : {left, right, softcap, alibi, sinks, used, dims}) EXPECT_GE(count, 4);
  EXPECT_EQ(kinds.size(), 4u);
}

TEST(Cases, KeysThatNoQuerySeesAreNaN) {
  ForwardCase c;
  c.seqlens_q = c.seqlens_k = {4, 4};
  c.heads_q = 2;
  c.options.seqused_k = {3, 4};
  c.options.bias = {.kind = BiasKind::kVisible, .holes = false};
  ForwardData data = make_data(c);
  const auto poisoned = [&](int b, int key) {
    EXPECT_EQ(std::isnan(data.k.get(b, key, 0, 0)), std::isnan(data.v.get(b, key, 0, 63)));
    return std::isnan(data.k.get(b, key, 0, 0));
  };
  EXPECT_FALSE(poisoned(0, 2));
  EXPECT_TRUE(poisoned(0, 3));
  EXPECT_FALSE(poisoned(1, 3));
  const Expected expected = expect(data);
  for (const double x : expected.exact.out) EXPECT_TRUE(std::isfinite(x));
}

TEST(Cases, UnalignedAsTheApiFindsIt) {
  ForwardCase c;
  c.seqlens_q = c.seqlens_k = {3};
  const auto unaligned = [&](int head_dim, int head_dim_v) {
    c.head_dim = head_dim, c.head_dim_v = head_dim_v;
    return make_data(c).problem().unaligned;
  };
  EXPECT_FALSE(unaligned(64, 0));
  EXPECT_TRUE(unaligned(33, 0));
  EXPECT_TRUE(unaligned(64, 33));
  c.seqlens_q = c.seqlens_k = {1};  // no row is stepped to
  EXPECT_FALSE(unaligned(33, 0));
}

TEST(Cases, BiasLiesAmongPoison) {
  ForwardCase c;
  c.seqlens_q = {2}, c.seqlens_k = {5};
  c.dtype = DType::kBF16;
  c.options.bias = {.kind = BiasKind::kLikeQ, .own_batch = false, .holes = false};
  ForwardData data = make_data(c);
  const ForwardCall call = data.call();
  EXPECT_EQ(call.bias_batch_stride, 0);
  EXPECT_EQ(call.bias_row_stride, 8);
  EXPECT_EQ(call.bias_key_stride, 1);
  const auto* bias = static_cast<const bf16*>(call.bias);
  for (const int element : {0, 4, 8, 12}) EXPECT_FALSE(std::isnan(to_float(bias[element]))) << element;
  for (const int element : {-1, 5, 7, 13, 16}) EXPECT_TRUE(std::isnan(to_float(bias[element]))) << element;
}

ForwardCase small_case() {
  ForwardCase c;
  c.name = "small";
  c.head_dim = 8;
  c.heads_q = 2;
  c.seqlens_q = c.seqlens_k = {4, 4};
  c.causal = true;
  return c;
}

/// Writes the reference's own values: the judge must accept them.
ForwardData right_answer(const ForwardCase& c) {
  ForwardData data = make_data(c);
  const Expected expected = expect(data);
  std::int64_t index = 0;
  for (int b = 0; b < 2; ++b) {
    for (int i = 0; i < 4; ++i) {
      for (int h = 0; h < 2; ++h, ++index) {
        data.lse[Tensor::kRedZone + (b * 2 + h) * 4 + i] = static_cast<float>(expected.exact.lse[index]);
        for (int d = 0; d < 8; ++d) data.out.set(b, i, h, d, expected.exact.out[index * 8 + d]);
      }
    }
  }
  return data;
}

TEST(Check, AcceptsTheRoundedAnswerInEveryDtype) {
  for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32}) {
    ForwardCase c = small_case();
    c.dtype = dtype;
    const ForwardData data = right_answer(c);
    const Verdict verdict = check(data, expect(data));
    EXPECT_TRUE(verdict.ok) << verdict.message;
  }
}

TEST(Check, RefusesWhatIsWrong) {
  const ForwardData right = right_answer(small_case());
  const Expected expected = expect(right);
  const auto copy = [&] {
    ForwardData data = right;
    data.out.storage = std::make_shared<Storage>(*right.out.storage);
    return data;
  };
  EXPECT_TRUE(check(copy(), expected).ok);

  ForwardData off = copy();
  off.out.set(1, 2, 1, 7, off.out.get(1, 2, 1, 7) + 0.02);
  EXPECT_THAT(check(off, expected).message, ::testing::HasSubstr("out of sequence 1, row 2, head 1, dim 7"));

  ForwardData nan = copy();
  nan.out.set(0, 0, 0, 0, NAN);
  EXPECT_FALSE(check(nan, expected).ok);

  ForwardData lse = copy();
  lse.lse[Tensor::kRedZone + 3] = -INFINITY;
  EXPECT_THAT(check(lse, expected).message, ::testing::HasSubstr("lse of sequence 0, row 3, head 0"));

  ForwardData unwritten = make_data(small_case());
  EXPECT_FALSE(check(unwritten, expected).ok);

  ForwardData stray = copy();
  stray.lse.back() = 0;
  EXPECT_THAT(check(stray, expected).message, ::testing::HasSubstr("outside of its elements"));
}

}  // namespace
}  // namespace flashfit::testing
