// The hyperbolic tangent of every kernel, at floats of all sizes.
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <vector>

#include "runtime/cpu/kernel.hpp"

namespace flashfit::cpu {
namespace {

constexpr std::size_t kChunk = 1 << 14;
constexpr float kInfinity = std::numeric_limits<float>::infinity();

TEST(CpuTanh, WithinTwoUlp) {
  std::vector<float> x(kChunk), y(kChunk);
  for (const Kernel& kernel : kernels()) {
    double worst = 0;
    // Every 257th float from 2^-40 to infinity, both signs in turn.
    const std::uint32_t last = std::bit_cast<std::uint32_t>(kInfinity);
    for (std::uint64_t bits = std::bit_cast<std::uint32_t>(0x1p-40f); bits < last;) {
      for (std::size_t i = 0; i < kChunk; ++i, bits += 257) {
        const float size = std::bit_cast<float>(static_cast<std::uint32_t>(std::min<std::uint64_t>(bits, last)));
        x[i] = i % 2 ? -size : size;
      }
      kernel.tanh(x.data(), y.data(), kChunk);
      for (std::size_t i = 0; i < kChunk; ++i) {
        const double want = std::tanh(static_cast<double>(x[i]));
        int exponent;
        std::frexp(want, &exponent);
        worst = std::max(worst, std::abs(y[i] - want) / std::ldexp(1.0, exponent - 24));
      }
    }
    EXPECT_LE(worst, 2) << kernel.name;
    RecordProperty(kernel.name, std::to_string(worst));
  }
}

TEST(CpuTanh, EndsOfTheRange) {
  const std::vector<float> want{0, -0.0f, 1, -1, 1, -1, 0x1p-149f, -0x1p-130f};
  std::vector<float> x{0, -0.0f, 100, -1e30f, kInfinity, -kInfinity, 0x1p-149f, -0x1p-130f, NAN};
  x.resize(64);
  std::vector<float> y(64);
  for (const Kernel& kernel : kernels()) {
    kernel.tanh(x.data(), y.data(), x.size());
    for (std::size_t i = 0; i < want.size(); ++i) {
      EXPECT_EQ(y[i], want[i]) << kernel.name << " tanh(" << x[i] << ")";
      EXPECT_EQ(std::signbit(y[i]), std::signbit(want[i])) << kernel.name << " tanh(" << x[i] << ")";
    }
    EXPECT_TRUE(std::isnan(y[8])) << kernel.name;
  }
}

}  // namespace
}  // namespace flashfit::cpu
