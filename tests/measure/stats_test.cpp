// Medians and intervals on samples whose answer is known.
#include "measure/stats.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "measure/four_digits.hpp"
#include "proof/reference/tensors.hpp"

namespace flashfit::measure {
namespace {

std::vector<double> normal(int count, double mean, double deviation, std::uint64_t seed) {
  reference::Random random(seed);
  std::vector<double> samples;
  for (int i = 0; i < count; ++i) samples.push_back(mean + deviation * random.normal());
  return samples;
}

TEST(Stats, MediansOfOddAndEvenCounts) {
  EXPECT_EQ(median(std::vector<double>{3, 1, 2}), 2);
  EXPECT_EQ(median(std::vector<double>{4, 1, 3, 2}), 2.5);
  EXPECT_EQ(median(std::vector<double>{7}), 7);
  EXPECT_TRUE(std::isnan(median({})));
}

TEST(Stats, TheIntervalHoldsTheMedianNineteenTimesInTwenty) {
  int held = 0;
  for (int i = 0; i < 200; ++i) {
    const Interval interval = median_interval(normal(60, 10, 1, 100 + i));
    held += interval.low <= 10 && 10 <= interval.high;
  }
  EXPECT_GE(held, 176);
  EXPECT_LE(held, 199);
}

TEST(Stats, TheIntervalIsTheSameForTheSameSamples) {
  const std::vector<double> samples = normal(50, 10, 1, 3);
  EXPECT_EQ(median_interval(samples).low, median_interval(samples).low);
  EXPECT_LT(median_interval(samples).low, median(samples));
  EXPECT_GT(median_interval(samples).high, median(samples));
}

TEST(Stats, ARatioOfPairsDoesNotSeeWhatSlowsBothDown) {
  std::vector<double> a, b;
  for (int i = 0; i < 60; ++i) {
    const double slowed = i < 25 ? 3 : 1;  // as a machine that others use
    a.push_back(10 * slowed + 0.01 * i);
    b.push_back(5 * slowed + 0.005 * i);
  }
  const Ratio ratio = paired_ratio(a, b);
  EXPECT_NEAR(ratio.value, 2, 1e-9);
  EXPECT_NEAR(ratio.interval.low, 2, 1e-9);
  EXPECT_NEAR(ratio.interval.high, 2, 1e-9);
  EXPECT_TRUE(std::isnan(paired_ratio(a, std::vector<double>{1}).value));
}

TEST(Stats, FiguresForPeopleHaveFourDigits) {
  for (const auto& [x, text] : {std::pair(0.007287, "0.007287"),
                                {7.5461, "7.546"},
                                {631.94, "631.9"},
                                {18220.4, "18220"},
                                {-12.0, "-12.00"},
                                {3e9, "3.000e+09"},
                                {0.0, "0"}})
    EXPECT_EQ(four_digits(x), text);
}

}  // namespace
}  // namespace flashfit::measure
