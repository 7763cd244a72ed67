#include "bench/profile.hpp"

#include <gtest/gtest.h>

namespace flashfit::bench {
namespace {

constexpr char kCsv[] =
    "==PROF== Connected to process 7\n"
    "case  median us\n"
    "\"ID\",\"Kernel Name\",\"dram__bytes.sum\",\"gpu__time_duration.sum\",\"launch__waves\"\n"
    "\"\",\"\",\"Mbyte\",\"ns\",\"\"\n"
    "\"0\",\"entry(ForwardKernel<1, 2>)\",\"2.5\",\"1,035,744\",\"3\"\n";

TEST(Profile, NumbersOfTheFirstKernelWithTheirUnits) {
  const auto found = metrics_of(kCsv);
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ((*found)["gpu__time_duration.sum"]["value"], 1035744);
  EXPECT_EQ((*found)["gpu__time_duration.sum"]["unit"], "ns");
  EXPECT_EQ((*found)["dram__bytes.sum"]["value"], 2.5);
  EXPECT_EQ(found->size(), 2) << "what was not asked for stays out";
}

TEST(Profile, NoKernelIsAnError) {
  const auto none = metrics_of("==PROF== No kernels were profiled.\n");
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "ncu counted nothing of the kernel");
}

}  // namespace
}  // namespace flashfit::bench
