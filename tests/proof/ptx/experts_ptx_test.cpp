// What NVRTC makes of the experts' kernels: the same bits as the fibres' kernels where both are compiled without
// contraction; and as shipped, right against fp64. One kernel of a call runs from its PTX, the other on fibres.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiled.hpp"
#include "kernels/moe/experts/cases.hpp"
#include "kernels/moe/experts/gradient_data.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/experts/weights_data.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/weights_product.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, emulated::emulated_experts_products, emulated::emulated_experts_rows;
using reference::ExpertsCase, reference::ExpertsData;

constexpr int kTargets[] = {75, 80, 90, 120};  // one of each way in which its instructions differ

bool has(const KernelVariant& variant, int target) {
  for (const Target& t : variant.targets)
    if (t.cc == target) return true;
  return false;
}

/// Whether the variant's kernel needs what 9.0a alone has.
bool is_hopper(const KernelVariant& variant) { return variant.family == &kExpertsWgmmaFamily; }

void expect_same(const ExpertsData& ptx, const ExpertsData& fibres, int target) {
  const ExpertsProblem& p = ptx.spec.problem;
  for (std::int64_t t = 0; t < p.tokens; ++t)
    for (int c = 0; c < p.hidden; ++c) {
      const double got = ptx.out.get(0, t, c), want = fibres.out.get(0, t, c);
      if (std::isnan(got) && std::isnan(want)) continue;  // NaN's bits are nobody's promise
      ASSERT_EQ(got, want) << ptx.spec.name << " for " << target << ": token " << t << " column " << c;
    }
}

/// All cases, with the variant's kernel from its PTX in the place of `rows` or `product`, whichever it is of.
void compare_with_fibres(const EmulatedKernel& rows, const EmulatedKernel& product, const KernelVariant& variant,
                         int target, const std::vector<ExpertsCase>& cases) {
  const auto program = program_of(variant, {.target = target, .own_features = is_hopper(variant)});
  ASSERT_TRUE(program) << program.error().message;
  const EmulatedKernel executed = kernel_of(variant, **program);
  const bool is_product = variant.family == product.variant.family;
  for (std::size_t i = 0; i < cases.size(); ++i) {
    ExpertsData fibres = reference::make_data(cases[i]), ptx = reference::make_data(cases[i]);
    const emu::Options options = schedules()[i % schedules().size()];
    ASSERT_TRUE(emulated::run(rows, product, fibres, options));
    const auto ran = emulated::run(is_product ? rows : executed, is_product ? executed : product, ptx, options);
    ASSERT_TRUE(ran) << cases[i].name << ": " << ran.error().message;
    expect_same(ptx, fibres, target);
  }
}

/// Every `each`-th of the product's cases from `first` on.
std::vector<ExpertsCase> sample_for(const EmulatedKernel& product, std::size_t first, std::size_t each) {
  const auto all = cases_for(experts_product_variant_of(product.variant).config);
  std::vector<ExpertsCase> sample;
  for (std::size_t i = first; i < all.size(); i += each) sample.push_back(all[i]);
  return sample;
}

class ExpertsPtx : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  const EmulatedKernel& rows() const { return emulated::rows_kernel_for(GetParam(), emulated_experts_rows()); }
  /// Large tiles take their time.
  std::size_t each() const {
    return experts_product_variant_of(GetParam().variant).config.tile_rows == kFewestTileRows ? 37 : 67;
  }
};

TEST_P(ExpertsPtx, GivesTheBitsOfTheFibres) {
  for (const int target : kTargets)
    if (has(GetParam().variant, target))
      compare_with_fibres(rows(), GetParam(), GetParam().variant, target,
                          sample_for(GetParam(), static_cast<std::size_t>(target) % 7, each()));
}

TEST_P(ExpertsPtx, IsRightAsShipped) {
  const bool hopper = is_hopper(GetParam().variant);
  const auto program =
      program_of(GetParam().variant, {.target = hopper ? 90 : 80, .own_features = hopper, .comparable = false});
  ASSERT_TRUE(program) << program.error().message;
  const EmulatedKernel executed = kernel_of(GetParam().variant, **program);
  const auto all = cases_for(experts_product_variant_of(GetParam().variant).config);
  for (std::size_t i = 3; i < all.size(); i += each()) {
    ExpertsData data = reference::make_data(all[i]);
    const auto ran = emulated::run(rows(), executed, data, {});
    ASSERT_TRUE(ran) << all[i].name << ": " << ran.error().message;
    EXPECT_EQ(reference::defect_of(data), "");
  }
}

/// Its choices are not sorted: the product finds them by their ids, and so does the sum.
TEST_P(ExpertsPtx, OneTokenGivesTheBitsOfTheFibres) {
  const ExpertsProductConfig& config = experts_product_variant_of(GetParam().variant).config;
  if (!experts_finds_choices(config)) return;
  for (const KernelVariant* const variant : {&GetParam().variant, &rows().variant})
    for (const int target : kTargets)
      if (has(*variant, target)) compare_with_fibres(rows(), GetParam(), *variant, target, one_token_cases(config));
}

/// Sums between the tiles.
TEST_P(ExpertsPtx, AddsUpBetweenTheTilesAsShipped) {
  const ExpertsProductConfig& config = experts_product_variant_of(GetParam().variant).config;
  if (!is_hopper(GetParam().variant) || config.keeps) return;  // forms that keep differ behind the products
  const auto program = program_of(GetParam().variant, {.target = 90, .own_features = true, .comparable = false});
  ASSERT_TRUE(program) << program.error().message;
  ExpertsData data = reference::make_data({.name = "phases",
                                           .problem = {.dtype = config.dtype,
                                                       .tokens = 40,
                                                       .experts = 4,
                                                       .top_k = 3,
                                                       .hidden = 3 * config.tile_columns + 24,
                                                       .intermediate = 8,
                                                       .low = 1,
                                                       .high = 4,
                                                       .gate_up = gate_up_for(config),
                                                       .transposed = config.transposed},
                                           .choices = reference::Choices::kRandom});
  const auto ran = emulated::run(rows(), kernel_of(GetParam().variant, **program), data, {}, 3);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(reference::defect_of(data), "");
}

INSTANTIATE_TEST_SUITE_P(Table, ExpertsPtx, ::testing::ValuesIn(emulated_experts_products()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

TEST(ActivationGradientPtx, IsRightAsShipped) {
  for (const EmulatedKernel& kernel : emulated::emulated_activation_gradients())
    for (const int target : kTargets) {
      if (!has(kernel.variant, target)) continue;
      const auto program = program_of(kernel.variant, {.target = target, .own_features = false, .comparable = false});
      ASSERT_TRUE(program) << program.error().message;
      EXPECT_EQ(first_defect_of_gradients(kernel_of(kernel.variant, **program)), "") << target;
    }
}

TEST(WeightsProductPtx, IsRightAsShipped) {
  for (const EmulatedKernel& kernel : emulated::emulated_weights_products()) {
    const auto program = program_of(kernel.variant, {.target = 90, .own_features = true, .comparable = false});
    ASSERT_TRUE(program) << program.error().message;
    const DType dtype = weights_product_variant_of(kernel.variant).config.dtype;
    for (const EmulatedKernel& rows : emulated_experts_rows()) {
      if (experts_rows_variant_of(rows.variant).config.dtype != dtype) continue;
      EXPECT_EQ(first_defect_of_weights(rows, kernel_of(kernel.variant, **program)), "");
    }
  }
}

TEST(ExpertsRowsPtx, GivesTheBitsOfTheFibres) {
  for (const EmulatedKernel& product : emulated_experts_products()) {
    if (experts_product_variant_of(product.variant).config.tile_rows != kFewestTileRows) continue;
    const EmulatedKernel& rows = emulated::rows_kernel_for(product, emulated_experts_rows());
    for (const int target : kTargets)
      if (has(rows.variant, target))
        compare_with_fibres(rows, product, rows.variant, target, sample_for(product, 5, 67));
  }
}

}  // namespace
}  // namespace flashfit::testing
