// Hand-made kernels of what Hopper adds to synchronisation: right under every schedule, on one
// host thread and on several.
#include <gtest/gtest.h>

#include "sync_cases.hpp"

namespace flashfit::testing {
namespace {

class HopperSync : public ::testing::TestWithParam<HopperCase> {};

TEST_P(HopperSync, IsRightUnderEverySchedule) {
  for (emu::Options options : hopper_schedules()) {
    options.kernel = GetParam().name;
    EXPECT_EQ(GetParam().defect(options), "") << name_of(options.schedule) << ' ' << options.seed;
  }
}

TEST_P(HopperSync, IsRightOnSeveralHostThreads) {
  EXPECT_EQ(GetParam().defect({.kernel = GetParam().name, .schedule = emu::Schedule::kRandom, .host_threads = 3}), "");
}

INSTANTIATE_TEST_SUITE_P(Kernels, HopperSync, ::testing::ValuesIn(hopper_cases()),
                         [](const auto& info) { return std::string(info.param.name); });

}  // namespace
}  // namespace flashfit::testing
