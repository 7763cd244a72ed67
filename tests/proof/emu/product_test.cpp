// The arithmetic of matrix instructions: what tensor cores are known to do, and the vectorised sum against the plain
// one.
#include "proof/emu/product.hpp"

#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <vector>

#include "core/base/half.hpp"
#include "proof/emu/fused_sum.hpp"
#include "proof/emu/schedule.hpp"

namespace flashfit::testing {
namespace {

using emu::TensorCore;

unsigned short bits_of(DType dtype, float x) {
  return dtype == DType::kF16 ? from_float<f16>(x).bits : from_float<bf16>(x).bits;
}

/// c + sum of `products` times 1, on an fp16 tensor core.
float add_up(float c, std::vector<float> products, const TensorCore& core) {
  std::vector<unsigned short> a(4 * 16), b(16 * 8, bits_of(DType::kF16, 1));
  std::vector<float> d(4 * 8, c);
  for (std::size_t k = 0; k < products.size(); ++k) a[k] = bits_of(DType::kF16, products[k]);
  emu::accumulate(DType::kF16, {a.data(), b.data(), d.data(), 4, 8}, &core);
  return d[0];
}

constexpr TensorCore kVolta = emu::tensor_core_of(70), kTuring = emu::tensor_core_of(75),
                     kAmpere = emu::tensor_core_of(80), kHopper = emu::tensor_core_of(90);

TEST(TensorCore, KeepsSoManyBitsBelowTheLargestTerm) {
  const std::vector<float> four_small(4, 0x1p-24f), eight_smaller(8, 0x1p-12f);
  EXPECT_EQ(add_up(1, four_small, kVolta), 1) << "each is cut off, though they add up to a bit that counts";
  EXPECT_EQ(add_up(1, four_small, kTuring), 1 + 0x1p-22f);
  EXPECT_EQ(add_up(1, four_small, kAmpere), 1 + 0x1p-22f);
  EXPECT_EQ(add_up(0x1p13f, eight_smaller, kAmpere), 0x1p13f) << "25 bits below";
  EXPECT_EQ(add_up(0x1p13f, eight_smaller, kHopper), 0x1p13f + 0x1p-9f);
  EXPECT_EQ(add_up(1, {0x1p-24f, 0x1p-24f, -1}, kHopper), 0x1p-23f);
}

TEST(TensorCore, RoundsTowardsZero) {
  for (const TensorCore& core : {kTuring, kHopper}) {
    EXPECT_EQ(add_up(1, {0x1p-24f}, core), 1);
    EXPECT_EQ(add_up(-1, {-0x1p-24f}, core), -1);
    EXPECT_EQ(add_up(1 + 0x1p-23f, {0x1p-24f}, core), 1 + 0x1p-23f) << "a tie that nearest even takes up";
    EXPECT_EQ(add_up(2, {-0x1p-24f}, core), core == kTuring ? 2 : 2 - 0x1p-23f) << "a bit below 2 is kept by Hopper";
  }
}

TEST(TensorCore, TakesTermsInGroups) {
  // The first eight cancel the accumulator before the last eight come: what those are too small for is gone by then.
  std::vector<float> products(16, 0x1p-20f);
  products[0] = -1024;
  for (int k = 1; k < 8; ++k) products[k] = 0;
  EXPECT_EQ(add_up(1024, products, kAmpere), 8 * 0x1p-20f);
  EXPECT_EQ(add_up(1024, products, kHopper), 0) << "all sixteen at once";
}

TEST(TensorCore, NaNIsTheOneNaN) {
  EXPECT_EQ(std::bit_cast<std::uint32_t>(add_up(1, {NAN}, kHopper)), 0x7fffffffu);
  EXPECT_EQ(std::bit_cast<std::uint32_t>(add_up(-INFINITY, {INFINITY}, kAmpere)), 0x7fffffffu);
  EXPECT_EQ(add_up(-INFINITY, {1}, kAmpere), -INFINITY);
}

/// A number of one of several kinds: ordinary, of any size, with zeros, any bits at all, the largest, tiny.
float number(emu::Xorshift& random, int kind) {
  const float x = static_cast<float>(random.below(20001) - 10000) / 4096;
  switch (kind) {
    case 0:
      return x;
    case 1:
      return std::ldexp(x, random.below(30) - 15);
    case 2:
      return random.below(2) ? x : 0;
    case 3:
      return std::bit_cast<float>(random.next());
    case 4:
      return random.below(2) ? 65504.f : -65504.f;
    default:
      return std::ldexp(x, -random.below(80));
  }
}

TEST(TensorCore, VectorisedSumIsThePlainOne) {
  emu::Xorshift random(5);
  for (const DType dtype : {DType::kF16, DType::kBF16})
    for (const TensorCore& core : {kVolta, kAmpere, kHopper})
      for (int kind = 0; kind < 6; ++kind)
        for (const int n : {8, 8, 32, 256}) {
          const int m = n == 32 ? 64 : 16;
          std::vector<unsigned short> a(m * 16), b(16 * n);
          std::vector<float> d(m * n);
          for (auto& x : a) x = bits_of(dtype, number(random, kind));
          for (auto& x : b) x = bits_of(dtype, number(random, kind));
          for (auto& x : d) x = number(random, kind);
          const std::vector<float> c = d;
          emu::accumulate(dtype, {a.data(), b.data(), d.data(), m, n}, &core);
          for (int i = 0; i < m * n; ++i) {
            float want = c[i];
            for (int k = 0; k < 16; k += core.terms)
              want =
                  emu::fused_sum(dtype, &a[i / n * 16 + k], &b[k * n + i % n], n, core.terms, want, core.fraction_bits);
            ASSERT_EQ(std::bit_cast<std::uint32_t>(d[i]), std::bit_cast<std::uint32_t>(want))
                << name_of(dtype) << ", " << core.terms << " terms, kind " << kind << ", element " << i;
          }
        }
}

TEST(PlainSum, AddsInTheOrderOfK) {
  emu::Xorshift random(6);
  std::vector<unsigned short> a(16 * 16), b(16 * 8);
  std::vector<float> d(16 * 8), want(16 * 8);
  for (auto& x : a) x = bits_of(DType::kF16, number(random, 1));
  for (auto& x : b) x = bits_of(DType::kF16, number(random, 1));
  for (int i = 0; i < 16 * 8; ++i) {
    want[i] = d[i] = number(random, 1);
    for (int k = 0; k < 16; ++k) want[i] += to_float(f16{a[i / 8 * 16 + k]}) * to_float(f16{b[k * 8 + i % 8]});
  }
  emu::accumulate(DType::kF16, {a.data(), b.data(), d.data(), 16, 8}, nullptr);
  EXPECT_EQ(d, want);
}

}  // namespace
}  // namespace flashfit::testing
