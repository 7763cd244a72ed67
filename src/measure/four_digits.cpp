#include "measure/four_digits.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace flashfit::measure {

std::string four_digits(double x) {
  constexpr int kDigits = 4;
  if (x == 0) return "0";
  const int exponent = static_cast<int>(std::floor(std::log10(std::abs(x))));
  if (exponent < -4 || exponent > 8) return fmt::format("{:.{}e}", x, kDigits - 1);
  return fmt::format("{:.{}f}", x, std::max(0, kDigits - 1 - exponent));
}

}  // namespace flashfit::measure
