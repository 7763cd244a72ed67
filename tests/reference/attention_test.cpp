// The reference itself, against values worked out by hand.
#include "reference/attention.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "base/half.hpp"

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

}  // namespace
}  // namespace flashfit::reference
