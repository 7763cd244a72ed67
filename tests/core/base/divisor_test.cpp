#include "core/base/divisor.hpp"

#include <gtest/gtest.h>

#include <climits>
#include <random>

namespace flashfit {
namespace {

void expect_exact(int d, int n) { ASSERT_EQ(Divisor(d).quotient(n), n / d) << n << " / " << d; }

TEST(Divisor, OfEachSmallDivisorOnBothSidesOfEachMultiple) {
  for (int d = 1; d < 300; ++d)
    for (int n = 0; n < 5 * d; ++n) expect_exact(d, n);
}

TEST(Divisor, AtTheEndsOfTheRange) {
  for (const int d :
       {1, 2, 3, 5, 7, 641, 65535, 65536, 65537, (1 << 30) - 1, 1 << 30, (1 << 30) + 1, INT_MAX - 1, INT_MAX})
    for (const int n : {0, 1, d - 1, d, INT_MAX / d * d, INT_MAX / d * d - 1, INT_MAX - 1, INT_MAX}) expect_exact(d, n);
}

TEST(Divisor, AtMultiplesOfAnySize) {
  std::mt19937 random(1);
  for (int i = 0; i < 1'000'000; ++i) {
    const int bits = static_cast<int>(random() % 31) + 1, d = static_cast<int>(random() >> (32 - bits)) | 1;
    const int n = static_cast<int>(random() >> 1) / d * d;
    expect_exact(d, n);
    if (n > 0) expect_exact(d, n - 1);
  }
}

TEST(Divisor, OfNothingGivenIsOne) { EXPECT_EQ(Divisor().quotient(INT_MAX), INT_MAX); }

}  // namespace
}  // namespace flashfit
