// The list of cases, and the rules that stand for many.
#include "measure/cases.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <numeric>
#include <set>

#include "measure/case_rules.hpp"
#include "measure/filling.hpp"
#include "measure/placement.hpp"

namespace flashfit::measure {
namespace {

std::vector<Case> all() { return expand_cases(case_list()).value(); }

Result<std::vector<Case>> of(const std::string& entry) {
  return expand_cases(R"({"groups": [{"name": "g", "stands_for": "s", "cases": [)" + entry + "]}]}");
}

std::string refusal(const std::string& entry) {
  const auto cases = of(entry);
  return cases ? "accepted" : cases.error().message;
}

TEST(Cases, ExpandTheSameEveryTime) {
  const std::vector<Case> first = all(), second = all();
  ASSERT_EQ(first.size(), second.size());
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_EQ(json_of(first[i]), json_of(second[i]));
}

TEST(Cases, HaveNamesOfTheirOwnThatAFileTakes) {
  std::set<std::string> names;
  for (const Case& c : all()) {
    EXPECT_TRUE(names.insert(c.name).second) << c.name;
    EXPECT_LE(c.name.size(), 200u) << c.name;
    EXPECT_TRUE(c.name.starts_with(c.group + "/")) << c.name;
    EXPECT_FALSE(c.stands_for.empty());
  }
}

TEST(Cases, EveryGroupIsThere) {
  std::map<std::string, int> count;
  for (const Case& c : all()) ++count[c.group];
  EXPECT_EQ(count, (std::map<std::string, int>{{"origin", 7 + 27},
                                               {"grid", 73},
                                               {"ragged", 8},
                                               {"uneven", 6},
                                               {"odd", 25},
                                               {"decode", 34},
                                               {"options", 16},
                                               {"wild", 400},
                                               {"edges", 150},
                                               {"corners", 234},
                                               {"hard", 983 + 1000}}));
}

TEST(Cases, ManyLengthsAreNamedByTheirNumberAndRange) {
  const auto name = [](const std::string& lengths) {
    return of(R"({"lengths_q": [)" + lengths + R"(], "heads": 2, "head_dim": 64, "dtype": "fp16"})").value()[0].name;
  };
  EXPECT_EQ(name("3, 0, 5"), "g/varlen 3+0+5 H2 D64 fp16 full");
  EXPECT_EQ(name("1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 0"), "g/varlen 13 of 0 to 12 H2 D64 fp16 full");
  EXPECT_EQ(name("7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7, 7"), "g/varlen 13 of 7 H2 D64 fp16 full");
}

TEST(Cases, TheGridHoldsSixteenThousandTokens) {
  int held = 0;
  for (const Case& c : all()) {
    if (c.group != "grid" || c.heads_q * c.head_dim != 2048) continue;
    EXPECT_EQ(std::accumulate(c.lengths_q.begin(), c.lengths_q.end(), std::int64_t{0}), 16384) << c.name;
    ++held;
  }
  EXPECT_EQ(held, 24 + 18 + 12 + 2);
}

TEST(Cases, AListOfValuesStandsForEachOfThem) {
  const auto cases = of(R"({"batch": [1, 2], "seqlen_q": 8, "heads": 4, "head_dim": [32, 64], "dtype": "fp16"})");
  ASSERT_EQ(cases->size(), 4u);
  EXPECT_EQ(cases->at(1).name, "g/B1 S8 H4 D64 fp16 full");
  EXPECT_EQ(cases->at(2).name, "g/B2 S8 H4 D32 fp16 full");
  EXPECT_EQ(cases->at(0).softmax_scale, 1 / std::sqrt(32.0));
}

TEST(Cases, WorkCountsVisiblePairs) {
  const auto work = [](const std::string& shape) {
    return work_of(of("{" + shape + R"(, "heads": 2, "head_dim": 8, "dtype": "fp16", "causal": true})")->at(0));
  };
  EXPECT_EQ(work(R"("seqlen_q": 4, "seqlen_k": 4)").exp, 2 * 10);
  EXPECT_EQ(work(R"("seqlen_q": 2, "seqlen_k": 4)").exp, 2 * (3 + 4));
  EXPECT_EQ(work(R"("seqlen_q": 4, "seqlen_k": 2)").exp, 2 * (1 + 2));
  EXPECT_EQ(work(R"("seqlen_q": 3, "seqlen_k": 0)").exp, 0);
  EXPECT_EQ(work(R"("seqlen_q": 4, "seqlen_k": 4)").flop, 4 * 8 * 20);
  EXPECT_EQ(work(R"("seqlen_q": 2, "seqlen_k": 4)").bytes, 2 * 8 * (2 * 2 * 2 + 2 * 4 * 2));
}

struct Windows {
  Video video;
  bool shifted;
  std::int64_t count, shortest, longest, tokens;
};

// Counted apart from this code.
TEST(Cases, WindowsAreThoseOfTheModel) {
  const Windows expected[] = {
      {{113, 720, 1280}, false, 36, 2008, 3298, 106488},  {{113, 720, 1280}, true, 80, 149, 3298, 109040},
      {{113, 1072, 1920}, false, 100, 478, 3298, 238960}, {{113, 1072, 1920}, true, 125, 149, 3298, 240410},
      {{25, 720, 1280}, false, 36, 448, 868, 27288},      {{25, 720, 1280}, true, 64, 149, 868, 28912},
      {{1, 720, 1280}, false, 9, 448, 463, 4122},         {{1, 720, 1280}, true, 16, 149, 463, 4528}};
  for (const Windows& w : expected) {
    const auto lengths = window_lengths(w.video, w.shifted);
    EXPECT_EQ(static_cast<std::int64_t>(lengths.size()), w.count);
    EXPECT_EQ(*std::min_element(lengths.begin(), lengths.end()), w.shortest);
    EXPECT_EQ(*std::max_element(lengths.begin(), lengths.end()), w.longest);
    EXPECT_EQ(std::accumulate(lengths.begin(), lengths.end(), std::int64_t{0}), w.tokens);
  }
}

TEST(Cases, RandomOnesDifferAndHoldEveryKind) {
  const std::vector<Case> some = random_cases(200, 1), others = random_cases(200, 2);
  int same = 0, causal = 0, ragged = 0, grouped = 0, scaled = 0;
  std::set<Memory> memory;
  for (std::size_t i = 0; i < some.size(); ++i) {
    same += some[i].lengths_q == others[i].lengths_q;
    causal += some[i].causal;
    ragged += some[i].variable_length;
    grouped += some[i].heads_q != some[i].heads_kv;
    scaled += some[i].softmax_scale != 0;
    memory.insert(some[i].memory);
    EXPECT_LE(work_of(some[i]).flop, 20e9);
  }
  EXPECT_LT(same, 20);
  EXPECT_THAT((std::vector{causal, ragged, grouped, scaled}),
              testing::Each(testing::AllOf(testing::Ge(10), testing::Le(190))));
  EXPECT_EQ(memory.size(), 4u);
}

TEST(Cases, RandomOnesWithOptionsHoldEachOfThem) {
  int windows = 0, capped = 0, alibi = 0, sinks = 0, biased = 0, used = 0, narrow = 0, odd = 0;
  for (const Case& c : random_cases(200, 3, {.options = true, .planted = false})) {
    windows += c.windowed();
    capped += c.softcap > 0;
    alibi += c.alibi;
    sinks += c.sinks;
    biased += c.bias.kind != BiasKind::kNone;
    used += !c.used_k.empty();
    narrow += c.head_dim_v != c.head_dim;
    odd += c.head_dim % 8 != 0;
  }
  EXPECT_THAT((std::vector{windows, capped, alibi, sinks, biased, used, narrow, odd}),
              testing::Each(testing::AllOf(testing::Ge(10), testing::Le(190))));
}

TEST(Cases, RandomOnesWithPlantedLogitsHoldEachKind) {
  int shifted = 0, rising = 0, peaked = 0, opposed = 0, positive = 0, scaled = 0, spare = 0;
  for (const Case& c : random_cases(400, 4, {.options = true, .planted = true})) {
    shifted += c.planted.shift != 0;
    rising += c.planted.trend != 0;
    peaked += c.planted.peak != 0;
    opposed += c.planted.opposes;
    positive += c.planted.positive_v;
    scaled += c.magnitude != 1 || c.magnitude_k != 1 || c.magnitude_v != 1;
    spare += c.spare_rows != 0;
    EXPECT_LE(std::abs(c.planted.shift), 150);
    EXPECT_LE(work_of(c).flop, 2e9 * 512 / 32);  // head_dims are drawn anew after lengths were shortened
  }
  EXPECT_THAT((std::vector{shifted, rising, peaked, opposed, positive, scaled, spare}),
              testing::Each(testing::AllOf(testing::Ge(10), testing::Le(390))));
}

TEST(Cases, PlantedLogitsAreWhatQAndKMultiplyTo) {
  const Case c = of(R"({"seqlen_q": 9, "seqlen_k": 80, "heads": 1, "head_dim": 32, "dtype": "fp32", "logit_shift": -60,
                       "logit_trend": 40, "logit_peak": 11, "opposing_rows": true, "positive_v": true})")
                     .value()[0];
  const Placement p = place(c);
  const auto value = [&](Filled tensor, std::int64_t row, std::int64_t d) {
    return double(value_of(c, place_of(p, tensor), tensor, 1, 0, row, 0, d));
  };
  const auto logit = [&](std::int64_t row, std::int64_t key, std::int64_t d) {
    return value(kQ, row, d) * value(kK, key, d) * c.softmax_scale;
  };
  EXPECT_NEAR(logit(0, 5, 0), -60, 1e-4);
  EXPECT_NEAR(logit(1, 5, 0), 60, 1e-4) << "row 1 opposes";
  EXPECT_NEAR(logit(0, 0, 1), -20, 1e-4);
  EXPECT_NEAR(logit(0, 79, 1), 20, 1e-4);
  EXPECT_NEAR(logit(3, 7, 2), 11, 1e-4);
  EXPECT_EQ(logit(3, 8, 2), 0);
  for (std::int64_t row = 0; row < 80; ++row) EXPECT_GE(value(kV, row, 3), 0);
}

TEST(Cases, UsedKeysFallFromAllToAFew) {
  EXPECT_EQ(falling_lengths({100, 100, 100, 100}), (std::vector<std::int64_t>{100, 75, 50, 25}));
  EXPECT_EQ(falling_lengths({1, 1, 0}), (std::vector<std::int64_t>{1, 1, 0}));
}

TEST(Cases, AWrongListIsRefusedInALine) {
  EXPECT_EQ(refusal(R"({"seqlen_q": 8, "heads": 4, "head_dim": 32, "dtype": "fp16", "cusal": true})"),
            "the list of cases: group g, entry 1: the key 'cusal' is not known");
  EXPECT_EQ(refusal(R"({"seqlen_q": 8, "heads": 4, "head_dim": 32, "dtype": "fp8"})"),
            "the list of cases: group g, entry 1: dtype is 'fp8', which is none");
  EXPECT_THAT(refusal(R"({"seqlen_q": 8, "heads": 4, "heads_kv": 3, "head_dim": 32, "dtype": "fp16"})"),
              testing::HasSubstr("4 heads over 3 of head_dim 32 make no problem"));
  EXPECT_THAT(refusal(R"({"seqlen_q": [8, 8], "heads": 4, "head_dim": 32, "dtype": "fp16"})"),
              testing::HasSubstr("a second case is called 'g/B1 S8 H4 D32 fp16 full'"));
  EXPECT_THAT(refusal(R"({"seqlen_q": 8, "heads": 4, "head_dim": 2, "dtype": "fp16", "logit_peak": 3})"),
              testing::HasSubstr("logits that take 3 columns of 2 cannot be planted"));
  EXPECT_THAT(refusal(R"({"seqlen_q": 8, "heads": 4, "head_dim": 8, "dtype": "fp16", "spare_rows": 3})"),
              testing::HasSubstr("spare rows, 0 or more, are for variable length"));
  EXPECT_THAT(refusal("{"), testing::HasSubstr("the list of cases: the text:"));
}

}  // namespace
}  // namespace flashfit::measure
