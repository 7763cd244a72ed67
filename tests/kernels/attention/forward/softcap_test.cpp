// tanh of scores that wait in registers: of small ones by a polynomial, of large ones by reciprocals that they share.
#include "kernels/attention/forward/wgmma/softcap.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "kernels/attention/score.cuh"

namespace flashfit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

/// Eight x become tanh(x / 4): two rows of two n8 tiles, of which N of one row share a reciprocal.
template <int N>
std::vector<float> tanh_of(const std::vector<float>& x) {
  float c[2][4];
  std::copy(x.begin(), x.end(), &c[0][0]);
  tanh_of_any<N, 0, 2>(c);
  return {&c[0][0], &c[0][0] + 8};
}

template <int N>
void expect_tanh(const std::vector<float>& x) {
  const std::vector<float> got = tanh_of<N>(x);
  for (int i = 0; i < 8; ++i) {
    const double exact = std::tanh(double{x[i]} / 4), error = std::abs(got[i] - exact);
    EXPECT_LE(error, 0x1p-20 * std::abs(exact)) << "x " << x[i] << ", " << i;
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
  const auto expect = [](const std::vector<float>& x) {
    expect_tanh<2>(x);
    expect_tanh<4>(x);
  };
  for (const float x : magnitudes()) {
    expect({x, -x, -x, x / 3, x, x, x, x});
    expect({x, 31.f, -x, 0.01f, -x, 200.f, x / 3, 3e38f});
    expect({-4.f, x, -0.3f, 2.5f, 12.f, -x, -30.f, x});
  }
}

// Of one float in 37 from 1/8 on, and of one in 37,000 below.
TEST(Softcap, PolynomialIsWithin2ToMinus20) {
  double largest = 0;
  for (uint32 bits = 0x00800000; bits < kBitOfLarge; bits += bits < 0x3e000000 ? 37 * 1000 : 37) {
    const float x = __builtin_bit_cast(float, bits);
    const double exact = std::tanh(double{x} / 4);
    largest = std::max(largest, std::abs(tanh_of_small(x) / exact - 1));
    EXPECT_EQ(tanh_of_small(-x), -tanh_of_small(x));
  }
  EXPECT_LE(largest, 0x1p-20);
  EXPECT_GE(largest, 0x1p-21);  // what the derived coefficients leave: less would be another polynomial
}

// The bit that the vote asks for tells what the choice of each score does.
TEST(Softcap, OneBitTellsLargeFromSmall) {
  const auto has_bit = [](float x) { return (__builtin_bit_cast(uint32, x) & kBitOfLarge) != 0; };
  for (const float x : {std::nextafter(2.f, 0.f), 0.f, 1e-40f, 1.99f}) {
    for (const float of : {x, -x}) EXPECT_FALSE(is_large(of) || has_bit(of)) << of;
  }
  for (const float x : {2.f, std::nextafter(2.f, 3.f), 3e38f, kInfinity}) {
    for (const float of : {x, -x}) EXPECT_TRUE(is_large(of) && has_bit(of)) << of;
  }
  EXPECT_TRUE(has_bit(NAN) && !is_large(NAN));
}

// A row's bits may not depend on which way other rows of its warp make the warp go.
TEST(Softcap, SmallOnesHaveTheSameBitsByEitherWay) {
  for (const float x : magnitudes()) {
    if (x >= kLeastLarge) break;
    const float want = tanh_of_small(x);
    for (const float other : {0.5f, -40.f, NAN, kInfinity}) {
      const std::vector<float> all = {x, other, other, x, other, x, x, other};
      const std::vector<float> of_two = tanh_of<2>(all), of_four = tanh_of<4>(all);
      for (const int i : {0, 3, 5, 6}) EXPECT_TRUE(of_two[i] == want && of_four[i] == want) << x << " beside " << other;
    }
  }
}

TEST(Softcap, WhatIsNoNumberStaysInItsPlace) {
  const std::vector<float> x = {0.7f, -3.f, 40.f, 1e-6f, 2.f, 5.f, -60.f, -1.f};
  for (int at = 0; at < 8; ++at)
    for (const float odd : {NAN, kInfinity, -kInfinity}) {
      std::vector<float> with = x, without = x;
      with[at] = odd, without[at] = 30.f;
      for (const auto& [got, plain] :
           {std::pair{tanh_of<2>(with), tanh_of<2>(without)}, std::pair{tanh_of<4>(with), tanh_of<4>(without)}}) {
        for (int i = 0; i < 8; ++i) {
          if (i == at) continue;
          EXPECT_NEAR(got[i], plain[i], 0x1p-20) << odd << " at " << at;
        }
        if (std::isnan(odd))
          EXPECT_TRUE(std::isnan(got[at]));
        else
          EXPECT_NEAR(got[at], std::copysign(1.f, odd), 0x1p-20);
      }
    }
}

// What score.cuh promises of its own, and that several at once are as near.
TEST(Softcap, TanhOfOneIsWithin2ToMinus22) {
  const auto exact = [](float x) { return std::tanh(double{x} * std::log(2.0) / 2); };
  for (const float x : magnitudes())
    for (const float of : {x, -x}) EXPECT_LE(std::abs(tanh_of_half_log2(of) - exact(of)), 0x1p-22) << of;
}

}  // namespace
}  // namespace flashfit
