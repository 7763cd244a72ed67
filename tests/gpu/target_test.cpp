#include "gpu/target.hpp"

#include <gtest/gtest.h>

namespace flashfit {
namespace {

constexpr Target sass(int cc) { return {cc, Target::Kind::kSass}; }
constexpr Target ptx(int cc) { return {cc, Target::Kind::kPtx}; }
constexpr ComputeCapability gpu(int cc) { return {cc / 10, cc % 10}; }

TEST(Target, Prints) {
  EXPECT_EQ(sass(90).str(), "9.0");
  EXPECT_EQ(ptx(80).str(), "8.0+PTX");
  EXPECT_EQ(sass(120).str(), "12.0");
}

TEST(RunsOn, MachineCodeOnTheSameMajorAndNoOlderMinor) {
  for (const auto& [image, device] :
       {std::pair{80, 80}, {80, 86}, {80, 89}, {86, 89}, {75, 75}, {90, 90}, {100, 103}, {120, 121}, {70, 75}})
    EXPECT_TRUE(runs_on(sass(image), gpu(device))) << image << " on " << device;
  for (const auto& [image, device] : {std::pair{86, 80},
                                      {89, 86},
                                      {75, 70},
                                      {80, 90},
                                      {90, 80},
                                      {90, 100},
                                      {100, 90},
                                      {103, 100},
                                      {121, 120},
                                      {100, 120},
                                      {100, 110},
                                      {120, 110}})
    EXPECT_FALSE(runs_on(sass(image), gpu(device))) << image << " on " << device;
}

TEST(RunsOn, IntegratedGpusTakeTheirOwnMachineCodeOnly) {
  EXPECT_TRUE(runs_on(sass(87), gpu(87)));
  EXPECT_FALSE(runs_on(sass(80), gpu(87)));
  EXPECT_FALSE(runs_on(sass(86), gpu(87)));
  EXPECT_FALSE(runs_on(sass(87), gpu(89)));
  EXPECT_TRUE(runs_on(sass(72), gpu(72)));
  EXPECT_FALSE(runs_on(sass(70), gpu(72)));
}

TEST(RunsOn, ThorIsOneChipUnderTwoNames) {
  EXPECT_TRUE(runs_on(sass(110), gpu(110)));
  EXPECT_TRUE(runs_on(sass(101), gpu(110)));
  EXPECT_TRUE(runs_on(sass(110), gpu(101)));
  EXPECT_FALSE(runs_on(sass(100), gpu(101)));
}

TEST(RunsOn, PtxOnAnythingNotOlder) {
  for (const int device : {80, 86, 87, 89, 90, 100, 103, 110, 120, 121})
    EXPECT_TRUE(runs_on(ptx(80), gpu(device))) << device;
  EXPECT_FALSE(runs_on(ptx(80), gpu(75)));
  EXPECT_FALSE(runs_on(ptx(75), gpu(70)));
}

TEST(Driver, LoadsMachineCodeFrom12AndCompilesPtxFrom12Point9) {
  EXPECT_TRUE(driver_loads_sass(0));
  EXPECT_TRUE(driver_loads_sass(12000));
  EXPECT_FALSE(driver_loads_sass(11080));
  EXPECT_TRUE(driver_compiles_ptx(0));
  EXPECT_TRUE(driver_compiles_ptx(12090));
  EXPECT_TRUE(driver_compiles_ptx(13000));
  EXPECT_FALSE(driver_compiles_ptx(12080));
}

}  // namespace
}  // namespace flashfit
