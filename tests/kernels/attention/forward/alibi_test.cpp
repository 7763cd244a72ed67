// Kernels for ALiBi alone, which visit keys in an order of their own, on rows with several tiles of keys, against fp64.
#include <gtest/gtest.h>

#include "emulated.hpp"
#include "place_of.hpp"
#include "share.hpp"

namespace flashfit::testing {
namespace {

class Alibi : public ::testing::TestWithParam<EmulatedKernel> {};

bool takes_it_alone(const ForwardConfig& c) { return c.kind == ForwardKind::kAlibi; }

TEST_P(Alibi, IsRightOnLongRows) {
  const std::size_t place = place_of(forward_variant_of(GetParam().variant).config);
  for (const emu::Options& options : share_of(schedules(), place)) EXPECT_EQ(alibi_defect(GetParam(), options), "");
}

INSTANTIATE_TEST_SUITE_P(Table, Alibi, ::testing::ValuesIn(kernels_where(takes_it_alone)),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
