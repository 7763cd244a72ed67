// Every row of the variant table, on every case, under three schedules, against fp64.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "emulated.hpp"

namespace flashfit::testing {
namespace {

class Forward : public ::testing::TestWithParam<EmulatedForward> {
 protected:
  const ForwardConfig& config() const { return GetParam().variant->config; }
};

TEST_P(Forward, IsRightOnAllCases) {
  for (const ForwardCase& spec : forward_cases(config().dtype, config().head_dim, Size::kSmall)) {
    ForwardData data = make_data(spec);
    const Expected expected = expect(data);
    for (const emu::Options& options : schedules()) {
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
