// A layer of one token, whose choices nobody sorts, under the emulator: against fp64, with the bits that the token has
// in a larger batch, and behind a router.
#include "kernels/moe/experts/one_token.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "kernels/moe/experts/cases.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel;
using reference::ExpertsCase, reference::ExpertsData;

const ExpertsProductConfig& config_of(const EmulatedKernel& product) {
  return experts_product_variant_of(product.variant).config;
}

std::vector<EmulatedKernel> products_that_find_choices() {
  std::vector<EmulatedKernel> all = emulated::emulated_experts_products();
  std::erase_if(all, [](const EmulatedKernel& k) { return !experts_finds_choices(config_of(k)); });
  return all;
}

/// Token t of a batch, in memory of its own.
ExpertsData one_of(const ExpertsData& all, int t) {
  ExpertsData one = all;
  ExpertsProblem& p = one.spec.problem;
  const std::int64_t gap = all.spec.gap;
  p.tokens = 1;
  one.x = reference::Grid(p.dtype, 1, 1, p.hidden, gap);
  for (int c = 0; c < p.hidden; ++c) one.x.set(0, 0, c, all.x.get(0, t, c));
  one.out = reference::Grid(p.dtype, 1, 1, p.hidden, gap);
  const auto cut = [&](auto& list) {
    list.erase(list.begin(), list.begin() + std::int64_t{t} * p.top_k);
    list.resize(static_cast<std::size_t>(p.top_k));
  };
  cut(one.ids);
  cut(one.weights);
  return one;
}

class OneToken : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  const EmulatedKernel& rows() const {
    return emulated::rows_kernel_for(GetParam(), emulated::emulated_experts_rows());
  }
  std::vector<ExpertsCase> cases() const { return one_token_cases(config_of(GetParam())); }
};

TEST_P(OneToken, IsRightUnderEverySchedule) {
  for (const ExpertsCase& spec : cases()) {
    ASSERT_FALSE(sorts(config_of(GetParam()), spec.problem)) << spec.name;
    for (const emu::Options& options : schedules()) {
      ExpertsData data = reference::make_data(spec);
      const auto ran = emulated::run(rows(), GetParam(), data, options);
      ASSERT_TRUE(ran) << spec.name << ": " << ran.error().message;
      ASSERT_EQ(reference::defect_of(data), "") << spec.name;
    }
  }
}

TEST_P(OneToken, HasTheBitsThatItHasInABatch) {
  for (ExpertsCase spec : cases()) {
    spec.problem.tokens = 3;
    ASSERT_TRUE(sorts(config_of(GetParam()), spec.problem));
    ExpertsData all = reference::make_data(spec);
    ASSERT_TRUE(emulated::run(rows(), GetParam(), all, {}));
    for (int t = 0; t < 3; ++t) {
      ExpertsData one = one_of(all, t);
      ASSERT_TRUE(emulated::run(rows(), GetParam(), one, {}));
      for (int c = 0; c < spec.problem.hidden; ++c) {
        const double got = one.out.get(0, 0, c), want = all.out.get(0, t, c);
        ASSERT_TRUE(got == want || (std::isnan(got) && std::isnan(want)))
            << spec.name << ": token " << t << " column " << c << ": " << got << ", in the batch " << want;
      }
      ASSERT_EQ(reference::defect_of(one), "") << spec.name;
    }
  }
}

TEST_P(OneToken, AddsNothingForIdsOfNoExpert) {
  for (const ExpertsCase& spec : cases()) {
    if (spec.choices != reference::Choices::kForeign) continue;
    ExpertsData data = reference::make_data(spec);
    const int experts = spec.problem.experts;
    const int none[] = {-1, experts, spec.problem.high, spec.problem.low - 1, 1 << 30};
    for (std::size_t i = 0; i < data.ids.size(); ++i) data.ids[i] = none[i % std::size(none)];
    const auto ran = emulated::run(rows(), GetParam(), data, {});
    ASSERT_TRUE(ran) << ran.error().message;
    for (int c = 0; c < spec.problem.hidden; ++c) ASSERT_EQ(data.out.get(0, 0, c), 0) << c;
    EXPECT_TRUE(data.out.poison_intact());
  }
}

TEST_P(OneToken, ReadsIdsThroughAMap) {
  for (const ExpertsCase& spec : cases()) {
    if (spec.problem.owned() == 0) continue;
    ASSERT_EQ(defect_of_mapped_token(rows(), GetParam(), spec), "");
  }
}

TEST_P(OneToken, ComesFromEveryRouter) {
  using enum Router;
  const auto& routes = emulated::emulated_routes();
  const auto route = std::ranges::find_if(routes, [](const EmulatedKernel& k) {
    return route_variant_of(k.variant).config == RouteConfig{DType::kF32, 512, 4};
  });
  ASSERT_NE(route, routes.end());
  for (const Router router : {kSoftmax, kTopKSoftmax, kSigmoid, kSqrtSoftplus})
    for (const int top_k : {1, 3, 8})
      for (const emu::Options& options : schedules())
        ASSERT_EQ(defect_of_routed_token(*route, rows(), GetParam(),
                                         {.experts = top_k == 8 ? 512 : 5, .top_k = top_k, .router = router}, options),
                  "");
}

INSTANTIATE_TEST_SUITE_P(Table, OneToken, ::testing::ValuesIn(products_that_find_choices()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
