// Kernels for ALiBi alone, which visit keys in an order of their own, on rows with several tiles of keys, against fp64.
#include <gtest/gtest.h>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

class Alibi : public ::testing::TestWithParam<EmulatedKernel> {};

bool takes_it_alone(const ForwardConfig& c) { return c.kind == ForwardKind::kAlibi; }

TEST_P(Alibi, IsRightOnLongRows) {
  for (const emu::Options& options : schedules()) EXPECT_EQ(alibi_defect(GetParam(), options), "");
}

INSTANTIATE_TEST_SUITE_P(Table, Alibi, ::testing::ValuesIn(kernels_where(takes_it_alone)),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
