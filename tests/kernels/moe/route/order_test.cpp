// Logits as numbers in the order of choice.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

#include "kernels/moe/route/logit_order.hpp"

namespace flashfit {
namespace {

constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(LogitOrder, RisesWithTheLogit) {
  const float rising[] = {-kInfinity, -3e38f, -1.5f, -1.0f, -1e-45f, 0.0f, 1e-45f, 1.0f, 1.5f, 3e38f, kInfinity};
  for (std::size_t i = 1; i < std::size(rising); ++i) EXPECT_LT(order_of(rising[i - 1]), order_of(rising[i])) << i;
  EXPECT_GT(order_of(-kInfinity), 0u);
  for (const std::uint32_t bits : {0x7fc00000u, 0xffc00000u, 0x7f800001u, 0xffffffffu})
    EXPECT_GT(order_of(std::bit_cast<float>(bits)), order_of(kInfinity)) << bits;
}

TEST(LogitOrder, ZerosAreEqual) { EXPECT_EQ(order_of(-0.0f), order_of(0.0f)); }

TEST(LogitOrder, GivesTheLogitBack) {
  for (std::uint64_t bits = 0; bits < 1ull << 32; bits += 0x10003) {
    const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
    const float back = logit_of(order_of(x));
    if (std::isnan(x))
      EXPECT_TRUE(std::isnan(back)) << bits;
    else
      EXPECT_EQ(back, x) << bits;
  }
}

}  // namespace
}  // namespace flashfit
