#include "measure/ratio.hpp"

#include <algorithm>
#include <cmath>

namespace flashfit::results {

Ratio quotient(const Ratio& above, const Ratio& below) {
  const double value = above.value / below.value;
  const auto down = [](const Ratio& r) { return std::max(0.0, std::log(r.value / r.interval.low)); };
  const auto up = [](const Ratio& r) { return std::max(0.0, std::log(r.interval.high / r.value)); };
  return {value,
          {value * std::exp(-together(down(above), up(below))), value * std::exp(together(up(above), down(below)))}};
}

double together(double a, double b) { return std::sqrt(a * a + b * b); }

Ratio widened(Ratio ratio, double share) {
  ratio.interval.low = std::min(ratio.interval.low, ratio.value / (1 + share));
  ratio.interval.high = std::max(ratio.interval.high, ratio.value * (1 + share));
  return ratio;
}

const char* name_of(Verdict verdict) {
  switch (verdict) {
    case Verdict::kFaster:
      return "faster";
    case Verdict::kSlower:
      return "slower";
    case Verdict::kSame:
      return "same";
    case Verdict::kCannotTell:
      return "can't tell";
  }
  return "";
}

Verdict judge(const Interval& interval, double margin) {
  const double above = 1 + margin, below = 1 / above;
  if (interval.low > above) return Verdict::kSlower;
  if (interval.high < below) return Verdict::kFaster;
  if (interval.low >= below && interval.high <= above) return Verdict::kSame;
  return Verdict::kCannotTell;
}

}  // namespace flashfit::results
