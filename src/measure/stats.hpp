#pragma once
// Medians and what is known of them. No sample is thrown away.
#include <cstdint>
#include <span>

namespace flashfit::measure {

struct Interval {
  double low = 0, high = 0;
};

/// The middle value, or the mean of the two; NaN without samples.
double median(std::span<const double> samples);

/// 95 % percentile bootstrap of the median: 1000 resamples, the same for the same samples. NaN without samples.
Interval median_interval(std::span<const double> samples, std::uint64_t seed = 1);

/// median(numerator) / median(denominator) of samples that were measured in pairs, round by round, and its 95 %
/// percentile bootstrap, which resamples rounds: what slows a round down slows both. NaN where they are not as many.
struct Ratio {
  double value = 0;
  Interval interval;
};
Ratio paired_ratio(std::span<const double> numerator, std::span<const double> denominator, std::uint64_t seed = 1);

}  // namespace flashfit::measure
