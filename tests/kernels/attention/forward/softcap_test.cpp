// tanh of scores that wait in registers: of small ones by a polynomial, of others several at once by one reciprocal.
#include "kernels/attention/forward/wgmma/softcap.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/score.cuh"

namespace flashfit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

double exact(float x) { return std::tanh(double{x} * std::log(2.0) / 2); }
double of_units(float tanh) { return double{tanh} * kTanhUnit; }

template <int N>
void expect_tanh(const float (&x)[N]) {
  float got[N];
  std::copy(std::begin(x), std::end(x), got);
  tanh_of_half_log2(got);
  for (int i = 0; i < N; ++i) {
    const double error = std::abs(of_units(got[i]) - exact(x[i]));
    EXPECT_LE(error, 0x1p-20) << "x " << x[i] << ", " << i << " of " << N;
    EXPECT_LE(error, 0x1p-15 * std::abs(exact(x[i]))) << "x " << x[i] << ", " << i << " of " << N;
  }
}

// Magnitudes from 2^-80 to 2^100, 770 in each doubling.
std::vector<float> magnitudes() {
  constexpr int kEach = 770;
  std::vector<float> all;
  for (int i = 0; i < 180 * kEach; ++i) all.push_back(float(std::exp2(double(i) / kEach - 80)));
  return all;
}

TEST(Softcap, TanhOfSeveralIsThatOfEach) {
  for (const float x : magnitudes()) {
    expect_tanh({x});
    expect_tanh({x, -x});
    expect_tanh({-x, x / 3});
    expect_tanh({x, 31.f, -x, 0.01f});
    expect_tanh({-x, 200.f, x / 3, 3e38f});
  }
}

TEST(Softcap, WhatIsNoNumberStaysInItsPlace) {
  for (int at = 0; at < 4; ++at)
    for (const float odd : {NAN, kInfinity, -kInfinity}) {
      const float x[4] = {0.7f, -3.f, 40.f, 1e-6f};
      float got[4], without[4];
      for (int i = 0; i < 4; ++i) got[i] = i == at ? odd : x[i], without[i] = i == at ? 30.f : x[i];
      tanh_of_half_log2(got);
      tanh_of_half_log2(without);
      for (int i = 0; i < 4; ++i) {
        if (i == at) continue;
        EXPECT_NEAR(of_units(got[i]), of_units(without[i]), 0x1p-20) << odd << " at " << at;
      }
      if (std::isnan(odd))
        EXPECT_TRUE(std::isnan(got[at]));
      else
        EXPECT_NEAR(of_units(got[at]), std::copysign(1.0, double{odd}), 0x1p-20);
    }
}

// Of one float in 37 from 1/8 on, and of one in 37,000 below.
TEST(Softcap, PolynomialIsWithin2ToMinus20OfSmallOnes) {
  double largest = 0;
  for (uint32 bits = 0x00800000; bits < kBitOfLarge; bits += bits < 0x3e000000 ? 37 * 1000 : 37) {
    const float x = __builtin_bit_cast(float, bits);
    largest = std::max(largest, std::abs(of_units(tanh_of_small(x)) / exact(x) - 1));
    EXPECT_EQ(tanh_of_small(-x), -tanh_of_small(x));
  }
  EXPECT_LE(largest, 0x1p-20);
  EXPECT_EQ(tanh_of_small(0.f), 0.f);
}

TEST(Softcap, OneBitTellsLargeFromSmall) {
  const auto has_bit = [](float x) { return (__builtin_bit_cast(uint32, x) & kBitOfLarge) != 0; };
  for (const float x : {std::nextafter(2.f, 0.f), 0.f, 1e-40f, 1.f})
    for (const float of : {x, -x}) EXPECT_FALSE(has_bit(of)) << of;
  for (const float x : {2.f, std::nextafter(2.f, 3.f), 3e38f, kInfinity, NAN})
    for (const float of : {x, -x}) EXPECT_TRUE(has_bit(of)) << of;
}

// The two rows of a lane, each with all its keys.
TEST(Softcap, RowsAreThoseOfTheFragment) {
  const float of_row[2][4] = {{0.5f, -1.f, 1.9f, 0.01f}, {-7.f, 3.f, 0.2f, 40.f}};
  float c[2][4];
  for (int h = 0; h < 2; ++h)
    for (int n = 0; n < 4; ++n) c[n / 2][2 * h + n % 2] = of_row[h][n];
  tanh_of_small_row<0>(c);
  tanh_of_row<2, 1>(c);
  for (int h = 0; h < 2; ++h)
    for (int n = 0; n < 4; ++n)
      EXPECT_NEAR(of_units(c[n / 2][2 * h + n % 2]), exact(of_row[h][n]), 0x1p-20) << h << " " << n;
}

// A row's bits must not depend on whether others of its warp are small, too.
TEST(Softcap, WeightsOfSmallRowsAreThoseOfEachPart) {
  float c[1][4][4], apart[1][4][4], sums[1][2], sums_apart[1][2];
  for (int n = 0; n < 4; ++n)
    for (int i = 0; i < 4; ++i) apart[0][n][i] = c[0][n][i] = std::sin(float(7 * n + i)) * 1.99f;
  const RowState rows[1][2] = {{{.base = 3.f, .sum = 0.f}, {.base = -1.f, .sum = 0.f}}};
  const float scale_log2 = 50.f * kTanhUnit;
  weigh_small(c, sums, rows, scale_log2, 0);
  tanh_of_small_row<0>(apart[0]);
  tanh_of_small_row<1>(apart[0]);
  exponentiate(apart, sums_apart, rows, scale_log2);
  for (int n = 0; n < 4; ++n)
    for (int i = 0; i < 4; ++i)
      EXPECT_EQ(std::bit_cast<unsigned>(c[0][n][i]), std::bit_cast<unsigned>(apart[0][n][i])) << n << " " << i;
  for (int h = 0; h < 2; ++h) {
    EXPECT_EQ(sums[0][h], sums_apart[0][h]);
    EXPECT_GT(sums[0][h], 0.f);
  }
}

// What score.cuh promises of its own, and that several at once are as near.
TEST(Softcap, TanhOfOneIsWithin2ToMinus22) {
  for (const float x : magnitudes())
    for (const float of : {x, -x}) EXPECT_LE(std::abs(tanh_of_half_log2(of) - exact(of)), 0x1p-22) << of;
}

}  // namespace
}  // namespace flashfit
