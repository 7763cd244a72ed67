#include "kernels/attention/forward/plan/registers.hpp"

#include <gtest/gtest.h>

namespace flashfit {
namespace {

// What NVRTC 12.9 gave the first kernels on 8.0: the estimate must not drift from it.
TEST(Registers, EstimateIsNearWhatTheCompilerGives) {
  const auto near = [](const ForwardConfig& c, int measured) {
    EXPECT_NEAR(estimate_registers(c).registers, measured, 5) << c.block_m << "x" << c.block_n;
  };
  near(tile_config(DType::kF16, 64, 128, 64, 4), 218);
  near(tile_config(DType::kF16, 128, 128, 32, 4), 250);
  near(tile_config(DType::kF16, 128, 128, 64, 8), 183);
  const RegisterEstimate spills = estimate_registers(tile_config(DType::kF16, 128, 128, 64, 4));  // it spilled
  EXPECT_EQ(spills.registers, 255);
  EXPECT_GT(spills.wanted, 255);
}

TEST(Registers, EstimateKeepsTheRowsPromise) {
  EXPECT_EQ(estimate_registers(tile_config(DType::kF16, 64, 128, 64, 4, 2, 3)).registers, 168);
}

}  // namespace
}  // namespace flashfit
