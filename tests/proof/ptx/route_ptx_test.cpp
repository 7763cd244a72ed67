// What NVRTC makes of the router's kernels: the same bits as the fibres' kernels where both are compiled without
// contraction, for every variant and target; and as shipped, right against fp64.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>

#include "compiled.hpp"
#include "kernels/moe/route/variants.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/route.hpp"

namespace flashfit::testing {
namespace {

using emulated::EmulatedKernel, emulated::emulated_routes;
using reference::RouteCase, reference::RouteData;

constexpr int kTargets[] = {75, 80, 90, 120};  // one of each way in which its instructions differ

class RoutePtx : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  std::vector<RouteCase> cases() const {
    const RouteConfig& c = route_variant_of(GetParam().variant).config;
    return reference::route_gpu_cases(c.dtype, c.experts);
  }
};

TEST_P(RoutePtx, GivesTheBitsOfTheFibres) {
  for (const int target : kTargets) {
    const auto program = program_of(GetParam().variant, {.target = target});
    ASSERT_TRUE(program) << program.error().message;
    const EmulatedKernel executed = kernel_of(GetParam().variant, **program);
    const auto all = cases();
    for (std::size_t i = static_cast<std::size_t>(target) % 3; i < all.size(); i += 3) {
      RouteData fibres = reference::make_data(all[i]), ptx = reference::make_data(all[i]);
      const emu::Options options = schedules()[i % schedules().size()];
      ASSERT_TRUE(emulated::run(GetParam(), fibres, options));
      const auto ran = emulated::run(executed, ptx, options);
      ASSERT_TRUE(ran) << all[i].name << ": " << ran.error().message;
      EXPECT_EQ(ptx.ids, fibres.ids) << all[i].name;
      for (std::size_t k = 0; k < ptx.weights.size(); ++k) {
        if (std::isnan(ptx.weights[k]) && std::isnan(fibres.weights[k])) continue;  // NaN's bits are nobody's promise
        ASSERT_EQ(ptx.weights[k], fibres.weights[k]) << all[i].name << " for " << target << " at " << k;
      }
    }
  }
}

TEST_P(RoutePtx, IsRightAsShipped) {
  const auto program = program_of(GetParam().variant, {.target = 80, .comparable = false});
  ASSERT_TRUE(program) << program.error().message;
  const EmulatedKernel executed = kernel_of(GetParam().variant, **program);
  for (const RouteCase& spec : cases()) {
    RouteData data = reference::make_data(spec);
    const auto ran = emulated::run(executed, data, {});
    ASSERT_TRUE(ran) << spec.name << ": " << ran.error().message;
    EXPECT_EQ(reference::defect_of(data), "");
  }
}

INSTANTIATE_TEST_SUITE_P(Table, RoutePtx, ::testing::ValuesIn(emulated_routes()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
