// Every row of the variant table, on every case, under up to three schedules, against fp64. emulate_all.cpp does more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

class Forward : public ::testing::TestWithParam<EmulatedForward> {
 protected:
  const ForwardConfig& config() const { return GetParam().variant->config; }
};

/// Runs of all kernels together: what two cores do in some minutes. While the table is small, each case has all three
/// schedules; as it grows, fewer, but at least one.
constexpr std::size_t kRuns = 6000;

/// The schedules of case i of n. One of the three rounds as a tensor core that the kernel is compiled for.
std::vector<emu::Options> schedules_of(const ForwardVariant& variant, std::size_t i, std::size_t n) {
  std::vector<emu::Options> all = schedules(), some;
  all[1].tensor_core = emu::tensor_core_of(variant.targets.front().cc);
  const std::size_t runs = std::max(kRuns / forward_variants().size(), n);
  for (std::size_t s = 0; s < all.size() && s * n + i < runs; ++s) some.push_back(all[(i + s) % all.size()]);
  return some;
}

TEST_P(Forward, IsRightOnAllCases) {
  const auto cases = forward_cases(config().dtype, config().head_dim, Size::kSmall);
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ForwardCase& spec = cases[i];
    ForwardData data = make_data(spec);
    const Expected expected = expect(data);
    for (const emu::Options& options : schedules_of(*GetParam().variant, i, cases.size())) {
      data = make_data(spec);
      const auto ran = run(GetParam(), data, options);
      ASSERT_TRUE(ran) << spec.name << ": " << ran.error().message;
      const Verdict verdict = check(data, expected);
      ASSERT_TRUE(verdict.ok) << name_of(options.schedule) << ": " << verdict.message;
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Table, Forward, ::testing::ValuesIn(emulated_forwards()),
                         [](const auto& kernel) { return name_of(kernel.param.variant->config); });

TEST(Forward, KernelsAreThoseOfTheTable) {
  ASSERT_EQ(emulated_forwards().size(), forward_variants().size());
  for (std::size_t i = 0; i < forward_variants().size(); ++i)
    EXPECT_EQ(emulated_forwards()[i].variant->config, forward_variants()[i].config);
}

}  // namespace
}  // namespace flashfit::testing
