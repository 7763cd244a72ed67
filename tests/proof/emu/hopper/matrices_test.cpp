// Kernels of tensor copies and matrix instructions give what they must, under every schedule.
#include <gtest/gtest.h>

#include "run_case.hpp"

namespace flashfit::testing {
namespace {

TEST(Matrices, GiveWhatTheyMust) {
  for_each_matrix_case([](const auto& c) {
    for (const emu::Schedule schedule : kSchedules) EXPECT_EQ(defect_of(c, schedule), "");
  });
}

}  // namespace
}  // namespace flashfit::testing
