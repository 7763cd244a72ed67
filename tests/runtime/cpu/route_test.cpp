// The CPU's router, for every instruction set of this machine, against fp64.
#include "runtime/cpu/route.hpp"

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>

#include "proof/reference/route.hpp"

namespace flashfit::cpu {
namespace {

using reference::RouteCase, reference::RouteData;

std::vector<RouteCase> all_cases(DType dtype, int most) {
  std::vector<RouteCase> cases = reference::route_cases(dtype, most);
  cases[0].problem.scale = 2.5F;
  const std::vector<RouteCase> more = reference::route_alone_cases(dtype, most);
  cases.insert(cases.end(), more.begin(), more.end());
  return cases;
}

TEST(CpuRoute, IsRightOnAllCases) {
  for (const Kernel& kernel : kernels())
    for (const DType dtype : {DType::kF16, DType::kBF16, DType::kF32})
      for (const int most : {128, 512})
        for (const RouteCase& spec : all_cases(dtype, most)) {
          RouteData data = reference::make_data(spec);
          route_on(data.call(), kernel, 2);
          ASSERT_EQ(reference::defect_of(data), "") << kernel.name << " " << name_of(dtype);
        }
}

TEST(CpuRoute, ThreadsChangeNoBit) {
  RouteCase spec = reference::route_cases(DType::kF32, 512).front();
  spec.problem.tokens = 1000;
  RouteData one = reference::make_data(spec), many = reference::make_data(spec);
  route_on(one.call(), kernels().front(), 1);
  route_on(many.call(), kernels().front(), 7);
  EXPECT_EQ(one.ids, many.ids);
  EXPECT_EQ(std::memcmp(one.weights.data(), many.weights.data(), one.weights.size() * sizeof(float)), 0);
}

TEST(CpuRoute, NoTokensIsNoWork) {
  RouteCase spec = reference::route_cases(DType::kF32, 8).front();
  spec.problem.tokens = 0;
  RouteData data = reference::make_data(spec);
  route(data.call());
  EXPECT_EQ(reference::defect_of(data), "");
}

}  // namespace
}  // namespace flashfit::cpu
