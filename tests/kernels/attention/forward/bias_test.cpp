// Kernels for a bias alone, whose rows may see nothing of their first tiles of keys, on rows with several, against
// fp64; and all that take a bias, on the lowest.
#include <gtest/gtest.h>

#include "emulated.hpp"
#include "place_of.hpp"

namespace flashfit::testing {
namespace {

class Bias : public ::testing::TestWithParam<EmulatedKernel> {};

bool takes_it_alone(const ForwardConfig& c) { return c.kind == ForwardKind::kBias; }

TEST_P(Bias, IsRightOnLongRows) {
  // Each kernel under one schedule, as rows whose bases are late take long here.
  const std::size_t place = place_of(forward_variant_of(GetParam().variant).config);
  const std::vector<emu::Options> all = schedules();
  EXPECT_EQ(bias_defect(GetParam(), all[place % all.size()], place), "");
}

class LowestBias : public ::testing::TestWithParam<EmulatedKernel> {};

TEST_P(LowestBias, HidesNoKey) {
  EXPECT_EQ(low_bias_defect(GetParam(), schedules().front(), 1), "");
  EXPECT_EQ(low_bias_defect(GetParam(), schedules().back(), 3), "") << "where keys are cut in parts";
}

INSTANTIATE_TEST_SUITE_P(Table, LowestBias, ::testing::ValuesIn(kernels_where(takes_biases)),
                         [](const auto& kernel) { return kernel.param.variant.name; });

INSTANTIATE_TEST_SUITE_P(Table, Bias, ::testing::ValuesIn(kernels_where(takes_it_alone)),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
