#include "measure/stats.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "proof/reference/tensors.hpp"

namespace flashfit::measure {
namespace {

constexpr int kResamples = 1000;
constexpr double kNone = std::numeric_limits<double>::quiet_NaN();

/// What lies between the outermost 2.5 % on both sides.
Interval middle_95(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  const auto at = [&](double share) { return values[static_cast<std::size_t>(std::lround(share * (kResamples - 1)))]; };
  return {at(0.025), at(0.975)};
}

/// kResamples times what `statistic` says of as many indices below `count`, drawn with replacement.
template <class Statistic>
Interval bootstrap(std::size_t count, std::uint64_t seed, Statistic statistic) {
  reference::Random random(seed);
  std::vector<std::size_t> drawn(count);
  std::vector<double> values;
  for (int i = 0; i < kResamples; ++i) {
    for (std::size_t& index : drawn) index = random.bits() % count;
    values.push_back(statistic(drawn));
  }
  return middle_95(std::move(values));
}

double median_of(std::span<const double> samples, const std::vector<std::size_t>& indices) {
  std::vector<double> values;
  values.reserve(indices.size());
  for (const std::size_t i : indices) values.push_back(samples[i]);
  return median(values);
}

}  // namespace

double median(std::span<const double> samples) {
  if (samples.empty()) return kNone;
  std::vector<double> sorted(samples.begin(), samples.end());
  const auto middle = sorted.begin() + static_cast<std::ptrdiff_t>(sorted.size() / 2);
  std::nth_element(sorted.begin(), middle, sorted.end());
  if (sorted.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(sorted.begin(), middle)) / 2;
}

Interval median_interval(std::span<const double> samples, std::uint64_t seed) {
  if (samples.empty()) return {kNone, kNone};
  return bootstrap(samples.size(), seed, [&](const auto& drawn) { return median_of(samples, drawn); });
}

Ratio paired_ratio(std::span<const double> numerator, std::span<const double> denominator, std::uint64_t seed) {
  if (numerator.empty() || numerator.size() != denominator.size()) return {kNone, {kNone, kNone}};
  return {median(numerator) / median(denominator), bootstrap(numerator.size(), seed, [&](const auto& drawn) {
            return median_of(numerator, drawn) / median_of(denominator, drawn);
          })};
}

}  // namespace flashfit::measure
