// The exponential of every kernel, at every float of its range.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/cpu/kernel.hpp"

namespace flashfit::cpu {
namespace {

constexpr std::size_t kChunk = 1 << 16;
// ln(2^-126): results below the smallest normal number are flushed to 0.
const float kLowest = std::bit_cast<float>(0xc2aeac4fu);

double units_in_last_place(float got, double want) {
  int exponent;
  std::frexp(want, &exponent);
  return std::abs(got - want) / std::ldexp(1.0, std::max(exponent, -125) - 24);
}

TEST(CpuExp, EveryFloatWithinOneAndAHalfUlp) {
  const std::uint32_t last = std::bit_cast<std::uint32_t>(kLowest);
  std::vector<float> x(kChunk), y(kChunk);
  // All floats from -87.3 to -2^-24; every 61st of them on the machines' other instruction sets and under sanitizers.
  for (const Kernel& kernel : kernels()) {
    const std::uint32_t step = &kernel == &kernels().front() && !FLASHFIT_SANITIZED ? 1 : 61;
    double worst = 0;
    for (std::uint64_t bits = std::bit_cast<std::uint32_t>(-0x1p-25f); bits <= last;) {
      for (std::size_t i = 0; i < kChunk; ++i, bits += step)
        x[i] = std::bit_cast<float>(static_cast<std::uint32_t>(std::min<std::uint64_t>(bits, last)));
      kernel.exp(x.data(), y.data(), kChunk);
      for (std::size_t i = 0; i < kChunk; ++i)
        worst = std::max(worst, units_in_last_place(y[i], std::exp(static_cast<double>(x[i]))));
    }
    EXPECT_LE(worst, 1.5) << kernel.name;
    RecordProperty(kernel.name, std::to_string(worst));
  }
}

TEST(CpuExp, EndsOfTheRange) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  const float lowest = std::bit_cast<float>(std::bit_cast<std::uint32_t>(kLowest) + 1);
  std::vector<float> x{
      0.0f,       -0.0f, -0x1p-149f, -0x1p-30f, lowest, -88.0f, -104.0f, -1e30f, -std::numeric_limits<float>::max(),
      -kInfinity, NAN,   -NAN};
  const std::vector<float> want{1, 1, 1, 1, 0, 0, 0, 0, 0, 0};
  x.resize(64);
  std::vector<float> y(64);
  for (const Kernel& kernel : kernels()) {
    kernel.exp(x.data(), y.data(), x.size());
    for (std::size_t i = 0; i < want.size(); ++i) EXPECT_EQ(y[i], want[i]) << kernel.name << " exp(" << x[i] << ")";
    EXPECT_TRUE(std::isnan(y[10]) && std::isnan(y[11])) << kernel.name;
  }
}

}  // namespace
}  // namespace flashfit::cpu
