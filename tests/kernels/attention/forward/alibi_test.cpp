// Kernels for ALiBi alone, which visit keys in an order of their own, on rows with several tiles of keys, against fp64.
#include <gtest/gtest.h>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

class Alibi : public ::testing::TestWithParam<EmulatedKernel> {};

std::vector<EmulatedKernel> kernels_for_alibi() {
  std::vector<EmulatedKernel> kernels = emulated_forwards();
  std::erase_if(kernels, [](const EmulatedKernel& kernel) {
    return forward_variant_of(kernel.variant).config.kind != ForwardKind::kAlibi;
  });
  return kernels;
}

TEST_P(Alibi, IsRightOnLongRows) {
  for (const emu::Options& options : schedules()) EXPECT_EQ(alibi_defect(GetParam(), options), "");
}

INSTANTIATE_TEST_SUITE_P(Table, Alibi, ::testing::ValuesIn(kernels_for_alibi()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
