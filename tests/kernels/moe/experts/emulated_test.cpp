// The experts' kernels under the emulator: every product with the kernel that sorts for it, on its cases, against fp64.
// The products of bf16 are those of fp16 but for how halves are widened and packed: a sample of their cases is enough,
// and half of them of large tiles, which take their time. So it is of forms that keep z.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <vector>

#include "kernels/moe/experts/cases.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "share.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, emulated::emulated_experts_products, emulated::emulated_experts_rows;
using reference::ExpertsCase, reference::ExpertsData;

class Experts : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  const EmulatedKernel& rows() const { return emulated::rows_kernel_for(GetParam(), emulated_experts_rows()); }
  /// Among the products, from 0.
  std::size_t place() const {
    const auto& all = emulated_experts_products();
    const auto same = [&](const EmulatedKernel& k) { return k.variant.name == GetParam().variant.name; };
    return static_cast<std::size_t>(std::ranges::find_if(all, same) - all.begin());
  }
  std::vector<ExpertsCase> cases() const { return cases_for(experts_product_variant_of(GetParam().variant).config); }
  /// The first of some tokens.
  ExpertsCase first_case() const {
    const auto all = cases();
    return *std::ranges::find_if(all, [](const ExpertsCase& spec) { return spec.problem.tokens >= 8; });
  }
};

TEST_P(Experts, IsRightOnAllCases) {
  const std::vector<emu::Options> orders = schedules();
  const std::vector<ExpertsCase> all = cases();
  const ExpertsProductConfig& config = experts_product_variant_of(GetParam().variant).config;
  const std::size_t sampled = config.dtype == DType::kBF16 || config.keeps ? 6
                              : config.tile_rows == kFewestTileRows        ? 1
                                                                           : 2;
  const std::size_t each = sampled * test_share();
  // Where CI tries a share, each product has others.
  for (std::size_t i = place() % test_share(); i < all.size(); i += each) {
    ExpertsData data = reference::make_data(all[i]);
    const int columns = static_cast<int>(i / each % 5);  // phases of 1 to 4 tiles of outputs, or none
    const auto ran = emulated::run(rows(), GetParam(), data, orders[i / each % orders.size()], columns);
    ASSERT_TRUE(ran) << all[i].name << ": " << ran.error().message;
    ASSERT_EQ(reference::defect_of(data), "");
  }
}

/// And wherever sums are taken.
TEST_P(Experts, GivesTheSameBitsUnderEverySchedule) {
  const std::vector<ExpertsCase> all = cases();
  for (std::size_t i = 0; i < all.size(); i += 37) {
    std::vector<std::vector<unsigned char>> outs;
    for (const emu::Options& options : schedules()) {
      ExpertsData data = reference::make_data(all[i]);
      const auto ran = emulated::run(rows(), GetParam(), data, options, static_cast<int>(outs.size()));
      ASSERT_TRUE(ran) << all[i].name << ": " << ran.error().message;
      outs.push_back(data.out.bytes);
    }
    EXPECT_EQ(outs[0], outs[1]) << all[i].name;
    EXPECT_EQ(outs[0], outs[2]) << all[i].name;
  }
}

/// Whatever else is in the batch, a token's result has the same bits: its products are summed in the same order.
TEST_P(Experts, ATokensResultIsItsOwn) {
  ExpertsCase spec = first_case();
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

/// Rows that come sorted give what the same rows give by their ids, with weights of 1.
TEST_P(Experts, TakesRowsThatComeSorted) {
  ExpertsCase spec = first_case();
  spec.problem.top_k = 1;
  spec.problem.weight_on = WeightOn::kOutput;
  ExpertsData by_ids = reference::make_data(spec);
  std::ranges::sort(by_ids.ids);
  std::ranges::fill(by_ids.weights, 1.f);
  std::vector<int> offsets;
  for (int e = 0; e <= spec.problem.experts; ++e)
    offsets.push_back(static_cast<int>(std::ranges::lower_bound(by_ids.ids, e) - by_ids.ids.begin()));
  ExpertsData by_offsets = by_ids;
  ASSERT_TRUE(emulated::run(rows(), GetParam(), by_ids, {}));
  ASSERT_EQ(reference::defect_of(by_ids), "");
  const auto ran = emulated::run(rows(), GetParam(), by_offsets, {}, 0, [&](ExpertsCall& call) {
    call.problem.sorted = true;
    call.topk_ids = nullptr, call.topk_weights = nullptr;
    call.offsets = offsets.data();
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(by_offsets.out.bytes, by_ids.out.bytes);
}

/// Rows of several tiles, whose last steps are not full, some of experts that are not here; and a stride of x that is
/// more than its columns.
TEST_P(Experts, GathersRowsOfSeveralTiles) {
  const ExpertsProductConfig& config = experts_product_variant_of(GetParam().variant).config;
  if (config.engine != ExpertsEngine::kWgmma || config.keeps) return;  // forms that keep differ behind the products
  ExpertsCase spec{.name = "many rows",
                   .problem = {.dtype = config.dtype,
                               .tokens = 230,
                               .experts = 6,
                               .top_k = 4,
                               .hidden = config.stages * config.depth + 24,
                               .intermediate = 8,
                               .low = 1,
                               .high = 5,
                               .gate_up = gate_up_for(config),
                               .transposed = config.transposed},
                   .choices = reference::Choices::kRandom,
                   .gap = 8};
  for (const emu::Options& options : share_of(schedules(), place())) {
    ExpertsData data = reference::make_data(spec);
    const auto ran = emulated::run(rows(), GetParam(), data, options);
    ASSERT_TRUE(ran) << ran.error().message;
    ASSERT_EQ(reference::defect_of(data), "");
  }
}

/// What is kept is rounded once, also below fp16's least normal number.
TEST_P(Experts, KeepsSmallNumbers) {
  const ExpertsProductConfig& config = experts_product_variant_of(GetParam().variant).config;
  if (!config.keeps) return;
  ExpertsData data = reference::make_data({.name = "small numbers",
                                           .problem = {.dtype = config.dtype,
                                                       .tokens = 9,
                                                       .experts = 2,
                                                       .top_k = 1,
                                                       .hidden = 40,
                                                       .intermediate = 16,
                                                       .low = 0,
                                                       .high = 2,
                                                       .transposed = config.transposed,
                                                       .keeps = true}});
  for (std::int64_t t = 0; t < data.x.rows; ++t)
    for (std::int64_t c = 0; c < data.x.columns; ++c) data.x.set(0, t, c, data.x.get(0, t, c) * 0x1p-15);
  ASSERT_TRUE(emulated::run(rows(), GetParam(), data, {}));
  EXPECT_EQ(reference::defect_of(data), "");
}

/// Outputs in phases of one tile and of two, the last one's narrower; units of two pieces; tokens that do not fill the
/// last unit, and choices of experts that are not here.
TEST_P(Experts, AddsUpOutputsOfEarlierPhases) {
  const ExpertsProductConfig& config = experts_product_variant_of(GetParam().variant).config;
  if (!experts_sums(config) || config.keeps) return;  // forms that keep differ behind the products
  for (const int columns : {1, 2, 3}) {
    ExpertsCase spec{.name = "phases",
                     .problem = {.dtype = config.dtype,
                                 .tokens = 41,
                                 .experts = 6,
                                 .top_k = columns,
                                 .hidden = 4 * config.tile_columns + 24,
                                 .intermediate = 8,
                                 .low = 1,
                                 .high = 5,
                                 .transposed = config.transposed,
                                 .weight_on = columns == 2 ? WeightOn::kInput : WeightOn::kOutput},
                     .choices = reference::Choices::kRandom};
    ExpertsData at_once = reference::make_data(spec);
    ASSERT_TRUE(emulated::run(rows(), GetParam(), at_once, {}));
    for (const emu::Options& options : share_of(schedules(), place())) {
      ExpertsData data = reference::make_data(spec);
      std::vector<int> counters(2 * kMostPhases);
      const auto ran = emulated::run(rows(), GetParam(), data, options, columns, {}, [&](const ExpertsCall& call) {
        std::memcpy(counters.data(), static_cast<const char*>(call.workspace) + experts_workspace(call.problem).summing,
                    counters.size() * sizeof(int));
      });
      ASSERT_TRUE(ran) << columns << ": " << ran.error().message;
      ASSERT_EQ(reference::defect_of(data), "");
      EXPECT_EQ(data.out.bytes, at_once.out.bytes);
      // Blocks run one after another here: the last one finds all phases complete, and each of its three warps takes
      // three units of each, though no tile is left.
      const int phases = (5 + columns - 1) / columns, of_tokens = 32 / columns;
      const int units = (41 + of_tokens - 1) / of_tokens * (columns > 2 ? 2 : 1);
      for (int phase = 0; phase + 1 < phases; ++phase)
        EXPECT_GE(counters[static_cast<std::size_t>(phase)], std::min(units, 9)) << phase;
    }
  }
}

/// Nor does it matter which tiles a plan takes: all of them sum products in the order of depth, 16 at a time. (So does
/// wgmma here. A GPU rounds within a step of 16 as it likes, perhaps not as mma.sync does.)
TEST_P(Experts, GivesTheBitsOfTheFirstOfItsDtype) {
  const DType dtype = experts_product_variant_of(GetParam().variant).config.dtype;
  const auto first = std::ranges::find_if(emulated_experts_products(), [&](const EmulatedKernel& other) {
    return experts_product_variant_of(other.variant).config.dtype == dtype;
  });
  if (first->variant.name == GetParam().variant.name) return;
  const std::vector<ExpertsCase> all = cases();
  for (std::size_t i = 1; i < all.size(); i += 23) {
    ExpertsData own = reference::make_data(all[i]), other = reference::make_data(all[i]);
    const auto ran = emulated::run(rows(), GetParam(), own, {});
    ASSERT_TRUE(ran) << all[i].name << ": " << ran.error().message;
    ASSERT_TRUE(emulated::run(rows(), *first, other, {}));
    EXPECT_EQ(own.out.bytes, other.out.bytes) << all[i].name;
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Experts, ::testing::ValuesIn(emulated_experts_products()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

TEST(Experts, KernelsAreThoseOfTheTables) {
  ASSERT_EQ(emulated_experts_products().size(), experts_product_variants().size());
  for (std::size_t i = 0; i < experts_product_variants().size(); ++i)
    EXPECT_EQ(experts_product_variant_of(emulated_experts_products()[i].variant).config,
              experts_product_variants()[i].config);
  ASSERT_EQ(emulated_experts_rows().size(), experts_rows_variants().size());
}

}  // namespace
}  // namespace flashfit::testing
