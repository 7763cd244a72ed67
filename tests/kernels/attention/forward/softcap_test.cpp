// tanh of several scores at once, by one reciprocal.
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

double exact(float x) { return std::tanh(double{x} * std::log(2.0) / 2); }

template <int N>
void expect_tanh(const float (&x)[N]) {
  float got[N];
  std::copy(std::begin(x), std::end(x), got);
  tanh_of_half_log2(got);
  for (int i = 0; i < N; ++i) {
    const double error = std::abs(got[i] - exact(x[i]));
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
        EXPECT_NEAR(got[i], without[i], 0x1p-20) << odd << " at " << at;
      }
      if (std::isnan(odd))
        EXPECT_TRUE(std::isnan(got[at]));
      else
        EXPECT_NEAR(got[at], std::copysign(1.f, odd), 0x1p-20);
    }
}

// What score.cuh promises of its own, and that several at once are as near.
TEST(Softcap, TanhOfOneIsWithin2ToMinus22) {
  for (const float x : magnitudes())
    for (const float of : {x, -x}) EXPECT_LE(std::abs(tanh_of_half_log2(of) - exact(of)), 0x1p-22) << of;
}

}  // namespace
}  // namespace flashfit
