#include "core/gpu/target.hpp"

#include <gtest/gtest.h>

namespace flashfit {
namespace {

using enum TargetScope;

constexpr Target sass(int cc, TargetScope scope = kPlain) { return {cc, Target::Kind::kSass, scope}; }
constexpr Target ptx(int cc, TargetScope scope = kPlain) { return {cc, Target::Kind::kPtx, scope}; }
constexpr ComputeCapability gpu(int cc) { return {cc / 10, cc % 10}; }

TEST(Target, Prints) {
  EXPECT_EQ(sass(90).str(), "9.0");
  EXPECT_EQ(ptx(80).str(), "8.0+PTX");
  EXPECT_EQ(sass(120).str(), "12.0");
  EXPECT_EQ(sass(90, kArchitecture).str(), "9.0a");
  EXPECT_EQ(ptx(100, kFamily).str(), "10.0f+PTX");
}

TEST(Target, IsReadBack) {
  for (const int cc : {75, 90, 101, 121})
    for (const TargetScope scope : {kPlain, kArchitecture, kFamily})
      for (const Target target : {sass(cc, scope), ptx(cc, scope)}) EXPECT_EQ(parse_target(target.str()), target);
  for (const char* text : {"", "9", "9.", ".0", "9.0b", "9.0af", "9.0+ptx", "9.0+PTX ", " 9.0", "9.10", "-9.0", "9.-1",
                           "0.0", "100.0", "9.0a+PTX+PTX"})
    EXPECT_EQ(parse_target(text), std::nullopt) << text;
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

TEST(RunsOn, CodeOfOneArchitectureOnThatAlone) {
  for (const Target& target : {sass(100, kArchitecture), ptx(100, kArchitecture)}) {
    EXPECT_TRUE(runs_on(target, gpu(100)));
    for (const int device : {90, 103, 110, 120}) EXPECT_FALSE(runs_on(target, gpu(device))) << device;
  }
  EXPECT_TRUE(runs_on(sass(101, kArchitecture), gpu(110)));
}

TEST(RunsOn, CodeOfAFamilyOnItsMembersFromThereOn) {
  for (const Target& target : {sass(100, kFamily), ptx(100, kFamily)}) {
    for (const int device : {100, 103}) EXPECT_TRUE(runs_on(target, gpu(device))) << device;
    for (const int device : {90, 110, 120}) EXPECT_FALSE(runs_on(target, gpu(device))) << device;
  }
  EXPECT_FALSE(runs_on(sass(103, kFamily), gpu(100)));
  EXPECT_TRUE(runs_on(sass(120, kFamily), gpu(121)));
  EXPECT_TRUE(runs_on(ptx(101, kFamily), gpu(110)));
  EXPECT_EQ(family_from({10, 0}), (std::vector<ComputeCapability>{{10, 0}, {10, 3}}));
  EXPECT_EQ(family_from({12, 1}), (std::vector<ComputeCapability>{{12, 1}}));
  EXPECT_EQ(family_from({9, 0}), (std::vector<ComputeCapability>{{9, 0}}));
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
