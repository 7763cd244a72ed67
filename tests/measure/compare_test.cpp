// The gate, on runs whose truth is known: what is slower fails, what is not passes.
#include "measure/compare.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "measure/synthetic.hpp"

namespace flashfit::results {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

Comparison compared(const ResultFile& old_run, const ResultFile& new_run, const CompareOptions& options = {}) {
  auto comparison = compare(old_run, new_run, options);
  EXPECT_TRUE(comparison) << (comparison ? "" : comparison.error().message);
  return comparison ? *comparison : Comparison{};
}

std::string refusal(const ResultFile& old_run, const ResultFile& new_run) {
  const auto comparison = compare(old_run, new_run, {});
  EXPECT_FALSE(comparison);
  return comparison ? "" : comparison.error().message;
}

Verdict only_verdict(const Comparison& comparison) {
  EXPECT_EQ(comparison.cases.size(), 1U);
  return comparison.cases.empty() ? Verdict::kCannotTell : comparison.cases[0].verdict;
}

TEST(Judge, TheBoundaryOfTheMarginIsTheSame) {
  const double margin = 0.25, above = 1.25, below = 0.8;
  EXPECT_EQ(judge({below, above}, margin), Verdict::kSame);
  EXPECT_EQ(judge({above, 1.3}, margin), Verdict::kCannotTell)
      << "an interval that touches the margin is not beyond it";
  EXPECT_EQ(judge({std::nextafter(above, 2), 1.3}, margin), Verdict::kSlower);
  EXPECT_EQ(judge({0.7, below}, margin), Verdict::kCannotTell);
  EXPECT_EQ(judge({0.7, std::nextafter(below, 0)}, margin), Verdict::kFaster);
  EXPECT_EQ(judge({std::nextafter(below, 0), 1.0}, margin), Verdict::kCannotTell);
  EXPECT_EQ(judge({1.0, std::nextafter(above, 2)}, margin), Verdict::kCannotTell);
}

TEST(Quotient, OfTwoFiguresHasTheWidthOfBoth) {
  const Ratio ratio = quotient({20, {20 / 1.03, 20 * 1.03}}, {10, {10 / 1.04, 10 * 1.04}});
  const double both = std::exp(std::hypot(std::log(1.03), std::log(1.04)));
  EXPECT_DOUBLE_EQ(ratio.value, 2);
  EXPECT_DOUBLE_EQ(ratio.interval.low, 2 / both);
  EXPECT_DOUBLE_EQ(ratio.interval.high, 2 * both);
}

TEST(Quotient, EachEndIsPushedByTheEndsThatPushIt) {
  const Ratio ratio = quotient({20, {20, 22}}, {10, {9, 10}});
  EXPECT_DOUBLE_EQ(ratio.interval.low, 2) << "neither the figure above can be less nor the one below more";
  EXPECT_GT(ratio.interval.high, 2 / 0.9);
}

TEST(Compare, SlowerFails) {
  Synthetic made(1);
  const Comparison c = compared(made.run({{.name = "a", .us = 100}}), made.run({{.name = "a", .us = 110}}));
  EXPECT_EQ(only_verdict(c), Verdict::kSlower);
  EXPECT_NEAR(c.cases[0].ratio.value, 1.1, 0.01);
  EXPECT_LT(c.cases[0].ratio.interval.low, c.cases[0].ratio.value);
  EXPECT_GT(c.cases[0].ratio.interval.high, c.cases[0].ratio.value);
  EXPECT_TRUE(c.failed());
}

TEST(Compare, FasterPasses) {
  Synthetic made(2);
  const Comparison c = compared(made.run({{.name = "a", .us = 110}}), made.run({{.name = "a", .us = 100}}));
  EXPECT_EQ(only_verdict(c), Verdict::kFaster);
  EXPECT_FALSE(c.failed());
}

TEST(Compare, NoisePasses) {
  for (std::uint64_t seed = 0; seed < 40; ++seed) {
    Synthetic made(seed);
    const std::vector<Made> cases = {{.name = "quiet"}, {.name = "noisy", .spread = 0.15}};
    const Comparison c = compared(made.run(cases), made.run(cases));
    EXPECT_FALSE(c.failed()) << "seed " << seed;
    EXPECT_EQ(c.cases[0].verdict, Verdict::kSame) << "seed " << seed;
  }
}

TEST(Compare, WhatIsTooNoisyToTellIsNeitherSameNorSlower) {
  Synthetic made(3);
  const Comparison c =
      compared(made.run({{.name = "a", .spread = 0.3}}), made.run({{.name = "a", .us = 104, .spread = 0.3}}));
  EXPECT_EQ(only_verdict(c), Verdict::kCannotTell);
  EXPECT_FALSE(c.failed());
}

TEST(Compare, TheNoiseFloorOfBothWidensAnInterval) {
  Synthetic made(4);
  ResultFile old_run = made.run({{.name = "a", .spread = 0.0005}}),
             new_run = made.run({{.name = "a", .us = 105, .spread = 0.0005}});
  EXPECT_EQ(only_verdict(compared(old_run, new_run)), Verdict::kSlower);
  old_run.noise = 0.03;
  new_run.noise = 0.04;
  const Comparison c = compared(old_run, new_run);
  EXPECT_EQ(only_verdict(c), Verdict::kCannotTell);
  EXPECT_NEAR(c.cases[0].ratio.interval.high / c.cases[0].ratio.value, 1.05, 1e-9);
  EXPECT_NEAR(c.cases[0].ratio.value / c.cases[0].ratio.interval.low, 1.05, 1e-9);
}

TEST(Compare, AFileWithoutANoiseFloorIsTakenToHaveThatOfTheMargin) {
  Synthetic made(5);
  ResultFile old_run = made.run({{.name = "a"}}), new_run = made.run({{.name = "a"}});
  new_run.noise.reset();
  const Comparison c = compared(old_run, new_run);
  EXPECT_EQ(only_verdict(c), Verdict::kCannotTell);
  EXPECT_THAT(c.notes, Contains("NEW states no noise floor: 3 % is taken"));
}

TEST(Compare, BesideAPeerTheDriftOfAMachineCancels) {
  Synthetic made(6);
  const std::vector<Made> alone = {{.name = "a"}}, beside = {{.name = "a", .peer_us = 150}};
  EXPECT_EQ(only_verdict(compared(made.run(alone), made.run(alone, 1.1))), Verdict::kSlower);
  const Comparison c = compared(made.run(beside), made.run(beside, 1.1));
  EXPECT_EQ(only_verdict(c), Verdict::kSame);
  EXPECT_THAT(c.cases[0].beside, ElementsAre("sdpa-flash"));
}

TEST(Compare, BesideAPeerSlowerStillFailsAndFasterStillPasses) {
  Synthetic made(7);
  const ResultFile fast = made.run({{.name = "a", .us = 100, .peer_us = 150}}),
                   slow = made.run({{.name = "a", .us = 112, .peer_us = 150}}, 0.9);
  const Comparison slower = compared(fast, slow), faster = compared(slow, fast);
  EXPECT_EQ(only_verdict(slower), Verdict::kSlower);
  EXPECT_NEAR(slower.cases[0].ratio.value, 1.12, 0.02);
  EXPECT_TRUE(slower.failed());
  EXPECT_EQ(only_verdict(faster), Verdict::kFaster);
  EXPECT_FALSE(faster.failed());
}

TEST(Compare, APeerThatChangedByItselfDoesNotDecideAlone) {
  Synthetic made(18);
  ResultFile old_run = made.run({{.name = "a", .peer_us = 150}}), new_run = made.run({{.name = "a", .peer_us = 150}});
  for (ResultFile* run : {&old_run, &new_run}) {
    PeerResult other = run->cases[0].peers[0];
    other.name = "sdpa-math";
    run->cases[0].peers.push_back(std::move(other));
  }
  PeerResult& changed = new_run.cases[0].peers[1];
  changed.ratio = *changed.ratio / 2;
  changed.ratio_interval = {changed.ratio_interval->low / 2, changed.ratio_interval->high / 2};
  const Comparison c = compared(old_run, new_run);
  EXPECT_EQ(only_verdict(c), Verdict::kCannotTell);
  EXPECT_THAT(c.cases[0].beside, ElementsAre("sdpa-flash", "sdpa-math"));
  EXPECT_LT(c.cases[0].ratio.interval.low, 1.01);
  EXPECT_GT(c.cases[0].ratio.interval.high, 1.99);
}

TEST(Compare, APeerOfAnotherVersionIsNoAnchor) {
  Synthetic made(8);
  const std::vector<Made> cases = {{.name = "a", .peer_us = 150}};
  const ResultFile old_run = made.run(cases);
  ResultFile new_run = made.run(cases);
  new_run.versions["torch"] = "2.14.0";
  const Comparison c = compared(old_run, new_run);
  EXPECT_THAT(c.cases[0].beside, IsEmpty());
  EXPECT_THAT(c.notes, Contains("peers are of different versions: no ratio is taken beside them"));
}

TEST(Compare, SwappedFilesAreNoticed) {
  Synthetic made(9);
  ResultFile first = made.run({{.name = "a"}}), second = made.run({{.name = "a"}});
  second.at = "2026-11-21T21:00:00Z";
  EXPECT_THAT(compared(first, second).notes, Not(Contains(HasSubstr("swapped"))));
  EXPECT_THAT(compared(second, first).notes, Contains("OLD was made after NEW (2026-11-21T21:00:00Z and "
                                                      "2026-11-21T20:00:00Z): are they swapped?"));
}

TEST(Compare, MissingCasesAreListed) {
  Synthetic made(10);
  const Comparison c =
      compared(made.run({{.name = "both"}, {.name = "gone"}}), made.run({{.name = "added"}, {.name = "both"}}));
  EXPECT_THAT(c.only_old, ElementsAre("gone"));
  EXPECT_THAT(c.only_new, ElementsAre("added"));
  EXPECT_EQ(c.cases.size(), 1U);
  EXPECT_FALSE(c.failed());
}

TEST(Compare, NoCaseInCommonIsRefused) {
  Synthetic made(11);
  EXPECT_EQ(refusal(made.run({{.name = "a"}}), made.run({{.name = "b"}})), "not comparable: no case is in both files");
}

ResultFile with_wrong(ResultFile run, const std::string& message) {
  run.cases[0].correct = false;
  run.cases[0].message = message;
  run.cases[0].timing.reset();
  return run;
}

TEST(Compare, ACaseThatBecameWrongFails) {
  Synthetic made(12);
  const ResultFile right = made.run({{.name = "a"}, {.name = "b"}}), bad = with_wrong(right, "error 0.3 above 0.001");
  const Comparison broke = compared(right, bad), mended = compared(bad, right), still = compared(bad, bad);
  ASSERT_EQ(broke.became_wrong.size(), 1U);
  EXPECT_EQ(broke.became_wrong[0].name, "a");
  EXPECT_EQ(broke.became_wrong[0].message, "error 0.3 above 0.001");
  EXPECT_TRUE(broke.failed());
  EXPECT_THAT(mended.became_right, ElementsAre("a"));
  EXPECT_FALSE(mended.failed());
  EXPECT_EQ(still.wrong_in_both.size(), 1U);
  EXPECT_FALSE(still.failed());
}

TEST(Compare, DifferentMachinesClocksAndMethodsAreRefused) {
  Synthetic made(13);
  const ResultFile run = made.run({{.name = "a"}});
  const auto with = [&](const auto& change) {
    ResultFile other = run;
    change(other);
    return refusal(run, other);
  };
  EXPECT_EQ(with([](ResultFile& f) { f.gpu->name = "NVIDIA L4"; }),
            "not comparable: GPU: NVIDIA H200 (9.0) and NVIDIA L4 (9.0); --force compares them all the same");
  EXPECT_THAT(with([](ResultFile& f) { f.gpu.reset(); }), HasSubstr("GPU: NVIDIA H200 (9.0) and none"));
  EXPECT_THAT(with([](ResultFile& f) { f.gpu->clock_max_mhz = 1755; }),
              HasSubstr("largest SM clock in MHz: 1980 and 1755"));
  EXPECT_THAT(with([](ResultFile& f) { f.cases[0].clock_mhz = 1900; }),
              HasSubstr("measured SM clock in MHz: 1980 and 1900"));
  EXPECT_THAT(with([](ResultFile& f) { f.cases[0].launch = "plain"; }), HasSubstr("launch of 'a': graph and plain"));
  EXPECT_THAT(with([](ResultFile& f) { f.l2 = "warm"; }), HasSubstr("method.l2: flushed and warm"));
  EXPECT_THAT(with([](ResultFile& f) { f.clock = "cycles"; }), HasSubstr("method.clock: events and cycles"));
  EXPECT_THAT(with([](ResultFile& f) { f.cases[0].problem.batch = 2; }), HasSubstr("problem of 'a'"));
}

TEST(Compare, ClocksCloserThanTheirShareAreCompared) {
  Synthetic made(14);
  const ResultFile old_run = made.run({{.name = "a"}});
  ResultFile new_run = old_run;
  new_run.cases[0].clock_mhz = 1980 / (1 + kClockShare) + 1;
  EXPECT_TRUE(compare(old_run, new_run, {}));
  new_run.cases[0].clock_mhz = 1980 / (1 + kClockShare) - 1;
  EXPECT_FALSE(compare(old_run, new_run, {}));
}

TEST(Compare, DifferentCpusAreRefusedWhereThereIsNoGpu) {
  Synthetic made(15);
  ResultFile old_run = made.run({{.name = "a"}}), new_run = old_run;
  new_run.cpu = "other";
  EXPECT_TRUE(compare(old_run, new_run, {}));
  old_run.gpu.reset();
  new_run.gpu.reset();
  EXPECT_THAT(refusal(old_run, new_run), HasSubstr("CPU: made and other"));
}

TEST(Compare, ForceComparesAndSaysWhat) {
  Synthetic made(16);
  const ResultFile old_run = made.run({{.name = "a"}});
  ResultFile new_run = made.run({{.name = "a", .us = 200}});
  new_run.gpu->name = "NVIDIA L4";
  const Comparison c = compared(old_run, new_run, {.force = true});
  EXPECT_THAT(c.notes, Contains("compared by force: GPU: NVIDIA H200 (9.0) and NVIDIA L4 (9.0)"));
  EXPECT_TRUE(c.failed());
}

TEST(Compare, AnInterruptedAndAThrottledRunAreNoted) {
  Synthetic made(17);
  const ResultFile old_run = made.run({{.name = "a"}, {.name = "b"}});
  ResultFile new_run = old_run;
  new_run.complete = false;
  new_run.cases[1].throttled = {"SwPowerCap"};
  const Comparison c = compared(old_run, new_run);
  EXPECT_THAT(c.notes, Contains("NEW was interrupted: it holds what had been measured"));
  EXPECT_THAT(c.notes, Contains("NEW was throttled in 1 cases"));
  EXPECT_THAT(compared(old_run, old_run).notes, ElementsAre("both are of revision abc"));
}

}  // namespace
}  // namespace flashfit::results
