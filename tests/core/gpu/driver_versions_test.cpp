#include "core/gpu/driver_versions.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace flashfit {
namespace {

TEST(ParseDriver, TakesBranchesReleasesAndCudaVersions) {
  const std::pair<const char*, CudaVersion>
      given[] = {{"535", 12020},       {"535.54.03", 12020}, {"525.60.13", 12000}, {"520.61.05", 11080},
                 {"550.54.14", 12040}, {"570.26", 12080},    {"575.51.03", 12090}, {"580", 13000},
                 {"580.65.06", 13000}, {"595.45.04", 13020}, {"450.80.02", 11000}, {"572.16", 12080},
                 {"537", 12020},       {"610", 13020},  // between branches: the older; past the newest: the newest
                 {"12.2", 12020},      {"CUDA 12.9", 12090}, {"cuda12.0", 12000},  {"13.1", 13010},
                 {"9.0", 9000}};
  for (const auto& [text, version] : given) {
    const auto parsed = parse_driver(text);
    ASSERT_TRUE(parsed) << text;
    EXPECT_EQ(*parsed, version) << text;
  }
}

TEST(ParseDriver, RefusesTheRestAndSaysWhatIsTaken) {
  for (const char* text : {"", "abc", "12", "12.", "12.10", "8.0", "535.", "535..1", ".5", "535.54.03.1", "-535", "99",
                           "389", "1000", "12.2x", "CUDA 535", "535 ", "99999999999999", "12.2.140"}) {
    const auto parsed = parse_driver(text);
    ASSERT_FALSE(parsed) << text << " -> " << *parsed;
    EXPECT_THAT(parsed.error().message, testing::StartsWith("driver '" + std::string(text) + "': give a driver branch"))
        << text;
  }
}

TEST(DriverVersions, ForMessages) {
  EXPECT_EQ(str(CudaVersion{12020}), "12.2");
  EXPECT_EQ(str(CudaVersion{13000}), "13.0");
  EXPECT_EQ(first_branch(12000), 525);
  EXPECT_EQ(first_branch(12090), 575);
  EXPECT_EQ(first_branch(99000), 0);
  EXPECT_EQ(first_driver_for({9, 0}), 0);
  EXPECT_EQ(first_driver_for({10, 0}), 12080);
  EXPECT_EQ(first_driver_for({12, 1}), 12080);
}

}  // namespace
}  // namespace flashfit
