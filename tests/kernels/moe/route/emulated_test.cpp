// The router's kernels under the emulator: every variant on its cases, under every schedule, against fp64.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>

#include "kernels/moe/route/variants.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, emulated::emulated_routes;
using reference::RouteCase, reference::RouteData;

class Route : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  const RouteConfig& config() const { return route_variant_of(GetParam().variant).config; }
  std::vector<RouteCase> cases() const { return reference::route_gpu_cases(config().dtype, config().experts); }
};

TEST_P(Route, IsRightOnAllCases) {
  for (const RouteCase& spec : cases())
    for (const emu::Options& options : schedules()) {
      RouteData data = reference::make_data(spec);
      const auto ran = emulated::run(GetParam(), data, options);
      ASSERT_TRUE(ran) << spec.name << ": " << ran.error().message;
      ASSERT_EQ(reference::defect_of(data), "");
    }
}

TEST_P(Route, ATokensResultIsItsOwn) {
  RouteCase spec = cases().front();
  spec.problem.tokens = 6;
  RouteData clean = reference::make_data(spec);
  ASSERT_TRUE(emulated::run(GetParam(), clean, {}));
  RouteData tainted = reference::make_data(spec);
  const auto row = static_cast<std::size_t>(size_of(spec.problem.dtype)) * spec.problem.experts;
  const auto begin = RouteData::kRedZone * size_of(spec.problem.dtype) + 2 * row;  // token 2 becomes NaN
  std::fill_n(tainted.logits.begin() + static_cast<std::ptrdiff_t>(begin), row, std::uint8_t{0xff});
  ASSERT_TRUE(emulated::run(GetParam(), tainted, {}));
  for (int t = 0; t < 6; ++t)
    for (int k = 0; k < spec.problem.top_k; ++k) {
      const auto at = static_cast<std::size_t>(RouteData::kRedZone + t * spec.problem.top_k + k);
      if (t == 2) {
        EXPECT_EQ(tainted.ids[at], k);
        EXPECT_TRUE(std::isnan(tainted.weights[at]));
      } else {
        EXPECT_EQ(tainted.ids[at], clean.ids[at]);
        EXPECT_EQ(tainted.weights[at], clean.weights[at]);
      }
    }
}

INSTANTIATE_TEST_SUITE_P(Table, Route, ::testing::ValuesIn(emulated_routes()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

TEST(Route, KernelsAreThoseOfTheTable) {
  ASSERT_EQ(emulated_routes().size(), route_variants().size());
  for (std::size_t i = 0; i < route_variants().size(); ++i)
    EXPECT_EQ(route_variant_of(emulated_routes()[i].variant).config, route_variants()[i].config);
}

}  // namespace
}  // namespace flashfit::testing
