// The experts' kernels under the emulator: every product with the kernel that sorts for it, on its cases, against fp64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "cases.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, emulated::emulated_experts_products, emulated::emulated_experts_rows;
using reference::ExpertsCase, reference::ExpertsData;

class Experts : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  const EmulatedKernel& rows() const { return emulated::rows_kernel_for(GetParam(), emulated_experts_rows()); }
  std::vector<ExpertsCase> cases() const { return cases_for(experts_product_variant_of(GetParam().row).config); }
};

TEST_P(Experts, IsRightOnAllCases) {
  const std::vector<emu::Options> orders = schedules();
  const std::vector<ExpertsCase> all = cases();
  for (std::size_t i = 0; i < all.size(); ++i) {
    ExpertsData data = reference::make_data(all[i]);
    const auto ran = emulated::run(rows(), GetParam(), data, orders[i % orders.size()]);
    ASSERT_TRUE(ran) << all[i].name << ": " << ran.error().message;
    ASSERT_EQ(reference::defect_of(data), "");
  }
}

TEST_P(Experts, GivesTheSameBitsUnderEverySchedule) {
  const std::vector<ExpertsCase> all = cases();
  for (std::size_t i = 0; i < all.size(); i += 37) {
    std::vector<std::vector<unsigned char>> outs;
    for (const emu::Options& options : schedules()) {
      ExpertsData data = reference::make_data(all[i]);
      ASSERT_TRUE(emulated::run(rows(), GetParam(), data, options));
      outs.push_back(data.out.bytes);
    }
    EXPECT_EQ(outs[0], outs[1]) << all[i].name;
    EXPECT_EQ(outs[0], outs[2]) << all[i].name;
  }
}

/// Whatever else is in the batch, a token's result has the same bits: its products are summed in the same order.
TEST_P(Experts, ATokensResultIsItsOwn) {
  ExpertsCase spec = cases().front();
  ExpertsData all = reference::make_data(spec);
  ASSERT_TRUE(emulated::run(rows(), GetParam(), all, {}));
  constexpr std::int64_t kFirst = 4;
  ExpertsData few = all;
  few.spec.problem.tokens = kFirst;
  few.out = reference::Grid(spec.problem.dtype, 1, kFirst, spec.problem.hidden, spec.gap);
  ASSERT_TRUE(emulated::run(rows(), GetParam(), few, {}));
  for (std::int64_t t = 0; t < kFirst; ++t)
    for (int c = 0; c < spec.problem.hidden; ++c) ASSERT_EQ(few.out.get(0, t, c), all.out.get(0, t, c));
}

INSTANTIATE_TEST_SUITE_P(Table, Experts, ::testing::ValuesIn(emulated_experts_products()),
                         [](const auto& kernel) { return kernel.param.row.name; });

TEST(Experts, KernelsAreThoseOfTheTables) {
  ASSERT_EQ(emulated_experts_products().size(), experts_product_variants().size());
  for (std::size_t i = 0; i < experts_product_variants().size(); ++i)
    EXPECT_EQ(experts_product_variant_of(emulated_experts_products()[i].row).config,
              experts_product_variants()[i].config);
  ASSERT_EQ(emulated_experts_rows().size(), experts_rows_variants().size());
}

}  // namespace
}  // namespace flashfit::testing
