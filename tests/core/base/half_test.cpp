// The 16-bit types against an oracle that knows only their definition.
#include "core/base/half.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

namespace flashfit {
namespace {

/// What a type's bits mean, by its definition alone.
struct Format {
  int exponent_bits, mantissa_bits;

  double decode(unsigned bits) const {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const unsigned mantissa = bits & ((1u << mantissa_bits) - 1);
    const int exponent = static_cast<int>(bits >> mantissa_bits) & ((1 << exponent_bits) - 1);
    const double sign = bits >> (exponent_bits + mantissa_bits) & 1 ? -1 : 1;
    if (exponent == (1 << exponent_bits) - 1)
      return mantissa ? std::numeric_limits<double>::quiet_NaN() : sign * HUGE_VAL;
    if (exponent == 0) return sign * std::ldexp(mantissa, 1 - bias - mantissa_bits);
    return sign * std::ldexp(mantissa + (1u << mantissa_bits), exponent - bias - mantissa_bits);
  }

  /// To nearest, ties to even, overflow from half a step past the largest: exact in double.
  double round(double x) const {
    if (x == 0 || !std::isfinite(x)) return x;
    const int bias = (1 << (exponent_bits - 1)) - 1, exponent = std::max(std::ilogb(x), 1 - bias);
    const double step = std::ldexp(1.0, exponent - mantissa_bits), rounded = std::nearbyint(x / step) * step;
    const double largest = std::ldexp(2.0 - std::ldexp(1.0, -mantissa_bits), bias);
    return std::abs(rounded) > largest ? std::copysign(HUGE_VAL, x) : rounded;
  }
};

constexpr Format format_of(f16) { return {5, 10}; }
constexpr Format format_of(bf16) { return {8, 7}; }

template <class T>
class Half : public ::testing::Test {};
using Types = ::testing::Types<f16, bf16>;
TYPED_TEST_SUITE(Half, Types);

TYPED_TEST(Half, EveryValueMeansWhatItsBitsSayAndComesBack) {
  const Format format = format_of(TypeParam{});
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const TypeParam half{static_cast<unsigned short>(bits)};
    const float value = to_float(half);
    const double want = format.decode(bits);
    if (std::isnan(want)) {
      ASSERT_TRUE(std::isnan(value)) << bits;
      const unsigned short back = from_float<TypeParam>(value).bits;
      ASSERT_TRUE(std::isnan(format.decode(back))) << bits;
      ASSERT_EQ(back >> 15, bits >> 15) << bits;
      continue;
    }
    ASSERT_EQ(value, want) << bits;
    ASSERT_EQ(std::signbit(value), bits >> 15 != 0) << bits;
    ASSERT_EQ(from_float<TypeParam>(value).bits, bits) << bits;
  }
}

template <class T>
::testing::AssertionResult rounds_right(float x) {
  const double want = format_of(T{}).round(x), got = to_float(from_float<T>(x));
  if (std::isnan(want) ? std::isnan(got) : got == want && std::signbit(got) == std::signbit(want))
    return ::testing::AssertionSuccess();
  return ::testing::AssertionFailure() << std::hexfloat << x << " became " << got << ", not " << want;
}

TYPED_TEST(Half, RoundsToNearestEvenAroundEveryValueAndEveryTie) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  for (unsigned bits = 0; bits < 0x10000; ++bits) {
    const TypeParam half{static_cast<unsigned short>(bits)}, next{static_cast<unsigned short>(bits + 1)};
    const float low = to_float(half), high = to_float(next);
    if (!std::isfinite(low)) continue;
    const float middle = std::isfinite(high) ? static_cast<float>((static_cast<double>(low) + high) / 2) : low;
    for (const float x : {low, middle}) {
      for (const float near : {x, std::nextafter(x, kInfinity), std::nextafter(x, -kInfinity)})
        ASSERT_TRUE(rounds_right<TypeParam>(near));
    }
  }
}

TYPED_TEST(Half, RoundsFloatsOfAllMagnitudes) {
  for (std::uint64_t bits = 0; bits < 0x100000000u; bits += 4099) {
    ASSERT_TRUE(rounds_right<TypeParam>(std::bit_cast<float>(static_cast<std::uint32_t>(bits))));
  }
}

TYPED_TEST(Half, EveryNanStaysNan) {
  const Format format = format_of(TypeParam{});
  for (std::uint32_t mantissa = 1; mantissa < 0x800000; mantissa = mantissa * 2 + 1) {
    for (const std::uint32_t bits : {mantissa, mantissa + 1, 0x800000 - mantissa}) {
      if (bits == 0 || bits >= 0x800000) continue;
      for (const std::uint32_t sign : {0u, 0x80000000u}) {
        const float nan = std::bit_cast<float>(sign | 0x7f800000u | bits);
        ASSERT_TRUE(std::isnan(format.decode(from_float<TypeParam>(nan).bits))) << bits;
      }
    }
  }
}

TEST(HalfValues, Overflow) {
  EXPECT_EQ(to_float(from_float<f16>(65519.996f)), 65504);
  EXPECT_TRUE(std::isinf(to_float(from_float<f16>(65520.0f))));
  EXPECT_TRUE(std::isinf(to_float(from_float<f16>(-1e30f))));
  EXPECT_TRUE(std::isinf(to_float(from_float<bf16>(std::numeric_limits<float>::max()))));
  EXPECT_EQ(to_float(from_float<bf16>(0x1.fep127f)), 0x1.fep127f);
}

TEST(HalfValues, WorksAtCompileTime) {
  static_assert(to_float(from_float<f16>(1.5f)) == 1.5f);
  static_assert(to_float(from_float<bf16>(-2.0f)) == -2.0f);
  static_assert(from_float<f16>(0x1p-24f).bits == 1);
}

}  // namespace
}  // namespace flashfit
