// Every row of the variant table, on every case, under up to three schedules, against fp64. emulate_all.cpp does more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emulated.hpp"
#include "plan/candidates.hpp"

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

/// The cases that the row serves: of its own head_dims, of narrower ones, and of every option. Of wide rows, which take
/// the most time, every so many: each row others.
std::vector<ForwardCase> cases_of(const ForwardConfig& c) {
  const auto rows = forward_variants();
  const auto row = std::ranges::find(rows, c, &ForwardVariant::config) - rows.begin();
  std::vector<ForwardCase> cases;
  const auto add = [&](std::vector<ForwardCase> more, std::int64_t head_dim_v, std::size_t each) {
    for (std::size_t i = 0; i < more.size(); i += each) {
      if (head_dim_v != 0) more[i].head_dim_v = head_dim_v;
      if (serves(c, make_data(more[i]).call().problem)) cases.push_back(std::move(more[i]));
    }
  };
  add(forward_cases(c.dtype, c.head_dim, Size::kSmall), c.head_dim_v, 1);
  add(option_cases(c.dtype, c.head_dim), 0, 1);
  add(option_cases(c.dtype, c.head_dim_v), 0, 3);
  for (const int narrower : {8, 24}) add(forward_cases(c.dtype, c.head_dim - narrower, Size::kSmall), c.head_dim_v, 9);
  for (const int narrower : {1, 7, 30}) add(forward_cases(c.dtype, c.head_dim - narrower, Size::kSmall), 9, 9);
  const int each = std::max(2, c.head_dim / 32);
  std::vector<ForwardCase> some;
  for (std::size_t i = 0; i < cases.size(); ++i)
    if ((i + row) % each == 0) some.push_back(std::move(cases[i]));
  return some;
}

TEST_P(Forward, IsRightOnAllCases) {
  const auto cases = cases_of(config());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ForwardCase& spec = cases[i];
    ForwardData data = make_data(spec);
    const Expected expected = expect(data);
    for (const emu::Options& options : schedules_of(*GetParam().variant, i, cases.size())) {
      data = make_data(spec);
      const int splits = 1 + static_cast<int>(i % 4);
      const auto ran = run(GetParam(), data, options, {}, splits);
      ASSERT_TRUE(ran) << spec.name << " in " << splits << " parts: " << ran.error().message;
      const Verdict verdict = check(data, expected);
      ASSERT_TRUE(verdict.ok) << name_of(options.schedule) << ", " << splits << " parts: " << verdict.message;
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
