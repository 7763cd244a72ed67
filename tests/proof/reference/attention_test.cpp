// The reference itself, against values worked out by hand.
#include "proof/reference/attention.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/base/half.hpp"

namespace flashfit::reference {
namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();

View rows_of(const std::vector<float>& values, std::int64_t dim) { return {values.data(), 0, dim, 0, 1}; }

Problem one_head(std::int64_t q_len, std::int64_t k_len, std::int64_t dim, bool causal) {
  return {DType::kF32, 1, 1, dim, causal, 1.0, {{0, 0, q_len, k_len}}};
}

TEST(Reference, TwoKeysByHand) {
  const std::vector<float> q{1}, k{0, std::log(3.0f)}, v{10, 20};  // weights 1/4 and 3/4
  const Output o = attention(one_head(1, 2, 1, false), rows_of(q, 1), rows_of(k, 1), rows_of(v, 1));
  EXPECT_NEAR(o.out[0], 17.5, 1e-6);
  EXPECT_NEAR(o.lse[0], std::log(4.0), 1e-6);
}

TEST(Reference, ScaleMultipliesScores) {
  const std::vector<float> q{2}, k{0, 1}, v{0, 1};
  Problem p = one_head(1, 2, 1, false);
  p.softmax_scale = std::log(9.0) / 2;
  EXPECT_NEAR(attention(p, rows_of(q, 1), rows_of(k, 1), rows_of(v, 1)).out[0], 0.9, 1e-12);
}

TEST(Reference, CausalIsAlignedToTheBottomRight) {
  const std::vector<float> q{0, 0, 0}, k{0, 0}, v{1, 3};
  // Three queries, two keys: the first sees none, the second one, the third both.
  const Output o = attention(one_head(3, 2, 1, true), rows_of(q, 1), rows_of(k, 1), rows_of(v, 1));
  EXPECT_EQ(o.out, (std::vector<double>{0, 1, 2}));
  EXPECT_EQ(o.lse[0], -kInfinity);
  EXPECT_EQ(o.lse[1], 0);
  // One query, two keys: it sees both.
  EXPECT_EQ(attention(one_head(1, 2, 1, true), rows_of(q, 1), rows_of(k, 1), rows_of(v, 1)).out[0], 2);
}

TEST(Reference, InvisibleKeysContributeNothing) {
  const std::vector<float> q{0, 0}, k{0, NAN}, v{5, NAN};
  const Output o = attention(one_head(2, 2, 1, true), rows_of(q, 1), rows_of(k, 1), rows_of(v, 1));
  EXPECT_EQ(o.out[0], 5);
  EXPECT_EQ(o.lse[0], 0);
  EXPECT_TRUE(std::isnan(o.out[1]));
  EXPECT_TRUE(std::isnan(o.lse[1]));
}

TEST(Reference, HeadsShareKeysInGroups) {
  // Two sequences of one token, four query heads on two key-value heads: with one key the output is its value.
  const std::vector<float> q(8), k(4), v{1, 2, 3, 4};
  const Problem p{DType::kF32, 4, 2, 1, false, 1.0, {{0, 0, 1, 1}, {1, 1, 1, 1}}};
  const Output o = attention(p, {q.data(), 0, 4, 1, 1}, {k.data(), 0, 2, 1, 1}, {v.data(), 0, 2, 1, 1});
  EXPECT_EQ(o.out, (std::vector<double>{1, 1, 2, 2, 3, 3, 4, 4}));
}

TEST(Reference, EveryStrideCounts) {
  // dim stride 2, head stride 1: two heads interleaved; the second sequence lies at the batch stride.
  const std::vector<float> zero(16);
  const std::vector<float> v{1, 10, 2, 20, 3, 30, 4, 40};
  const Problem p{DType::kF32, 2, 2, 2, false, 1.0, {{0, 0, 1, 1}, {0, 0, 1, 1}}};
  const View flat{zero.data(), 0, 0, 0, 1};
  EXPECT_EQ(attention(p, flat, flat, {v.data(), 4, 99, 1, 2}).out, (std::vector<double>{1, 2, 10, 20, 3, 4, 30, 40}));
}

TEST(Reference, NaiveRoundsWhereTheDtypeWould) {
  // Weights 1/4 and 3/4 are exact; 0.1 is not: bf16 keeps 0.10009765625 of it, and 3/4 of that rounds again.
  const bf16 q[1] = {from_float<bf16>(1)}, k[2] = {from_float<bf16>(0), from_float<bf16>(0)},
             v[2] = {from_float<bf16>(0.1f), {0}};
  Problem p = one_head(1, 2, 1, false);
  p.dtype = DType::kBF16;
  const double tenth = to_float(v[0]);
  EXPECT_EQ(naive_same_dtype(p, {q, 0, 1, 0, 1}, {k, 0, 1, 0, 1}, {v, 0, 1, 0, 1}).out[0], tenth / 2);
  // A score of 1.001 rounds to 1 in bf16, so the LSE shows that scores were rounded.
  const float fq[1] = {1.001f}, fk[1] = {1};
  const Problem single = one_head(1, 1, 1, false);
  EXPECT_EQ(static_cast<float>(naive_same_dtype(single, {fq, 0, 1, 0, 1}, {fk, 0, 1, 0, 1}, {fk, 0, 1, 0, 1}).lse[0]),
            1.001f);
  const bf16 bq[1] = {from_float<bf16>(1.0078125f)}, bk[1] = {from_float<bf16>(1.0078125f)};
  Problem rounded = single;
  rounded.dtype = DType::kBF16;
  EXPECT_EQ(naive_same_dtype(rounded, {bq, 0, 1, 0, 1}, {bk, 0, 1, 0, 1}, {bk, 0, 1, 0, 1}).lse[0], 1.015625);
}

TEST(Reference, ScoreMagnitudeIsOfVisiblePairs) {
  const std::vector<float> q{1, -2, 3, -4}, k{1, 1, 100, 100};
  EXPECT_EQ(score_magnitude(one_head(2, 2, 2, true), rows_of(q, 2), rows_of(k, 2)), 700);
  Problem p = one_head(1, 2, 2, false);
  p.softmax_scale = 0.5;
  EXPECT_EQ(score_magnitude(p, rows_of(q, 2), rows_of(k, 2)), 150);
}

/// Every score is 0: the output is the mean of the values seen, which shows which they are.
std::vector<double> means(Problem p, std::int64_t q_len, std::int64_t k_len) {
  p.sequences = {{0, 0, q_len, k_len}};
  std::vector<float> zeros(static_cast<std::size_t>(std::max(q_len, k_len))), powers;
  for (std::int64_t j = 0; j < k_len; ++j) powers.push_back(std::ldexp(1.0f, static_cast<int>(j)));
  return attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(powers, 1)).out;
}

TEST(Reference, WindowIsAlignedToTheBottomRight) {
  Problem p = one_head(0, 0, 1, false);
  p.window_left = 1, p.window_right = 0;
  EXPECT_EQ(means(p, 3, 3), (std::vector<double>{1, 1.5, 3}));
  EXPECT_EQ(means(p, 2, 4), (std::vector<double>{3, 6})) << "the first query stands at key 2";
  EXPECT_EQ(means(p, 4, 2), (std::vector<double>{0, 0, 1, 1.5})) << "the first two see nothing";
  p.window_left = 0, p.window_right = 1;
  EXPECT_EQ(means(p, 3, 3), (std::vector<double>{1.5, 3, 4}));
  EXPECT_EQ(means(p, 4, 2), (std::vector<double>{0, 1, 1.5, 2}));
  p.window_left = -1;
  EXPECT_EQ(means(p, 2, 4), (std::vector<double>{15 / 4.0, 15 / 4.0}));
  p.causal = true;  // no key on the right then
  EXPECT_EQ(means(p, 3, 2), (std::vector<double>{0, 1, 1.5}));
}

TEST(Reference, SoftcapBoundsScores) {
  const std::vector<float> q{3}, k{1, -1}, v{0, 1};
  Problem p = one_head(1, 2, 1, false);
  p.softcap = 2;
  const double weight = 1 / (1 + std::exp(4 * std::tanh(1.5)));
  EXPECT_NEAR(attention(p, rows_of(q, 1), rows_of(k, 1), rows_of(v, 1)).out[0], weight, 1e-15);
}

TEST(Reference, AlibiIsTheDistanceFromTheDiagonal) {
  // One query at the last of three keys: -2s, -s, 0. With two queries and one key the first stands before it: -s.
  const float slope[] = {std::log(2.0f), 0};
  const std::vector<float> zeros(3), v{4, 2, 1};
  Problem p = one_head(1, 3, 1, false);
  p.alibi_slopes = slope;
  const Output o = attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(v, 1));
  EXPECT_NEAR(o.lse[0], std::log(1.75), 1e-7);
  EXPECT_NEAR(o.out[0], (4 / 4.0 + 2 / 2.0 + 1) / 1.75, 1e-6);
  p.sequences = {{0, 0, 2, 1}};
  EXPECT_NEAR(attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(v, 1)).lse[0], -std::log(2.0), 1e-7);
  // The second sequence has slopes of its own.
  p.sequences = {{0, 0, 1, 2}, {0, 0, 1, 2}};
  p.alibi_batch_stride = 1;
  const Output both = attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(v, 1));
  EXPECT_NEAR(both.lse[0], std::log(1.5), 1e-7);
  EXPECT_NEAR(both.lse[1], std::log(2.0), 1e-15);
}

TEST(Reference, SinksJoinTheSum) {
  const std::vector<float> q{0, 0}, k{0}, v{8};
  float sink = std::log(3.0f);
  Problem p = one_head(2, 1, 1, true);  // the first query sees nothing
  p.sinks = &sink;
  const Output o = attention(p, rows_of(q, 1), rows_of(k, 1), rows_of(v, 1));
  EXPECT_EQ(o.out[0], 0);
  EXPECT_EQ(o.lse[0], sink);
  EXPECT_NEAR(o.out[1], 2, 1e-6);
  EXPECT_NEAR(o.lse[1], std::log(4.0), 1e-6);
  sink = -INFINITY;
  const Output without = attention(p, rows_of(q, 1), rows_of(k, 1), rows_of(v, 1));
  EXPECT_EQ(without.out, (std::vector<double>{0, 8}));
  EXPECT_EQ(without.lse, (std::vector<double>{-kInfinity, 0}));
  sink = 1e4;
  EXPECT_EQ(attention(p, rows_of(q, 1), rows_of(k, 1), rows_of(v, 1)).out[1], 0);
}

TEST(Reference, BiasIsAddedOrHides) {
  const float added[] = {0, 1, std::log(3.0f), -INFINITY};  // keys 2 apart
  const unsigned char seen[] = {0, 1, 0, 255};
  const std::vector<float> zeros(2), v{1, NAN}, w{NAN, 5};
  Problem p = one_head(1, 2, 1, false);
  p.bias = {.data = added, .key_stride = 2};
  const std::vector<float> numbers{1, 5};
  EXPECT_NEAR(attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(numbers, 1)).out[0], 4, 1e-6);
  p.bias.data = added + 1, p.bias.key_stride = 2;  // 1 and -inf
  const Output one = attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(v, 1));
  EXPECT_EQ(one.out[0], 1);
  EXPECT_EQ(one.lse[0], 1);
  p.bias = {.data = seen, .visible = true, .key_stride = 1};
  EXPECT_EQ(attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(w, 1)).out[0], 5);
  p.bias.data = seen + 3;
  p.bias.key_stride = 0;  // any byte but 0 is true
  EXPECT_EQ(attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(numbers, 1)).out[0], 3);
  p.bias.data = seen + 2;
  const Output none = attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(v, 1));
  EXPECT_EQ(none.out[0], 0);
  EXPECT_EQ(none.lse[0], -kInfinity);
}

TEST(Reference, BiasHasStridesOfItsOwn) {
  std::vector<float> bias(2 * 100, NAN);
  const std::vector<float> zeros(2);
  // Sequence 100, head 10, query 3, key 1 apart: of the second sequence, second head, second query, second key.
  for (const int at : {0, 1, 3, 4, 10, 11, 13, 14, 100, 101, 103, 104, 110, 111, 113}) bias[at] = 0;
  bias[114] = std::log(3.0f);
  Problem p{DType::kF32, 2, 2, 1, false, 1.0, {{0, 0, 2, 2}, {0, 0, 2, 2}}};
  p.bias = {.data = bias.data(), .batch_stride = 100, .head_stride = 10, .row_stride = 3, .key_stride = 1};
  const Output o = attention(p, rows_of(zeros, 1), rows_of(zeros, 1), rows_of(zeros, 1));
  for (int i = 0; i < 7; ++i) EXPECT_NEAR(o.lse[i], std::log(2.0), 1e-15) << i;
  EXPECT_NEAR(o.lse[7], std::log(4.0), 1e-6);
}

TEST(Reference, ValuesMayBeWider) {
  const std::vector<float> q{1}, k{1}, v{3, 4};
  Problem p = one_head(1, 1, 1, false);
  p.head_dim_v = 2;
  EXPECT_EQ(attention(p, rows_of(q, 1), rows_of(k, 1), rows_of(v, 2)).out, (std::vector<double>{3, 4}));
}

TEST(Reference, NaiveRoundsAfterEveryStep) {
  // 1 + 2^-9 has no bf16: 1 stays 1 after ALiBi, after the bias, and both.
  const bf16 one[1] = {from_float<bf16>(1)};
  const float slope = -0x1p-9f, bias[] = {0x1p-9f};
  const View view{one, 0, 1, 0, 1};
  Problem p = one_head(2, 1, 1, false);
  p.dtype = DType::kBF16;
  p.sequences = {{0, 0, 1, 1}};
  p.bias.data = bias;
  EXPECT_EQ(naive_same_dtype(p, view, view, view).lse[0], 1);
  EXPECT_EQ(attention(p, view, view, view).lse[0], 1 + 0x1p-9);
  p.bias.data = nullptr;
  p.alibi_slopes = &slope;
  p.sequences = {{0, 0, 1, 1}, {0, 0, 1, 0}};
  EXPECT_EQ(naive_same_dtype(p, view, view, view).lse[0], 1);
  p.alibi_slopes = nullptr;
  p.softcap = 8;
  EXPECT_EQ(naive_same_dtype(p, view, view, view).lse[0], to_float(from_float<bf16>(8 * std::tanh(0.125f))));
}

TEST(Reference, ScoreMagnitudeOfOptions) {
  const std::vector<float> q{3}, k{1};
  Problem p = one_head(1, 1, 1, false);
  p.softcap = 2;
  const double tanh = std::tanh(1.5), slope_1 = 1 - tanh * tanh;
  EXPECT_NEAR(score_magnitude(p, rows_of(q, 1), rows_of(k, 1)), 3 * slope_1 + 3 * 2 * tanh, 1e-12);
  p.softcap = 0;
  const float bias = -5;
  p.bias.data = &bias;
  EXPECT_EQ(score_magnitude(p, rows_of(q, 1), rows_of(k, 1)), 3 + 2);
  p.bias.data = nullptr;
  const float slope = 4;
  p.alibi_slopes = &slope;
  p.sequences = {{0, 0, 2, 1}};  // the first query is one before the key: 3 - 4
  const std::vector<float> twice{3, 0};
  EXPECT_EQ(score_magnitude(p, rows_of(twice, 1), rows_of(k, 1)), 3 + 4 + 1);
  p.alibi_slopes = nullptr;
  const float sink = -2;
  p.sinks = &sink;
  p.sequences = {{0, 0, 1, 1}};
  EXPECT_NEAR(score_magnitude(p, rows_of(q, 1), rows_of(k, 1)), 3 + 2 * 2 / (1 + std::exp(5.0)), 1e-12);
  p.sequences = {{0, 0, 1, 0}};  // the sink alone
  EXPECT_EQ(score_magnitude(p, rows_of(q, 1), rows_of(k, 1)), 2 * 2);
}

}  // namespace
}  // namespace flashfit::reference
