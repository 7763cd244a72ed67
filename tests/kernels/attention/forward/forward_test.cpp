// Every variant of the table, on every case, under up to three schedules, against fp64. emulate_all.cpp does more.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "emulated.hpp"
#include "kernels/attention/forward/wgmma/head_start.hpp"
#include "place_of.hpp"
#include "share.hpp"

namespace flashfit::testing {
namespace {

class Forward : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  const ForwardConfig& config() const { return forward_variant_of(GetParam().variant).config; }
};

/// Runs of all kernels together: what two cores do in some minutes. While the table is small, each case has all three
/// schedules; as it grows, fewer, but at least one.
constexpr std::size_t kRuns = 6000;

/// The schedules of case i of n. One of the three rounds as a tensor core that the kernel is compiled for.
std::vector<emu::Options> schedules_of(const ForwardVariant& variant, std::size_t i, std::size_t n) {
  std::vector<emu::Options> all = schedules(), some;
  all[1].tensor_core = emu::tensor_core_of(variant.targets.front().cc);
  const std::size_t runs = std::max(kRuns / forward_variants().size() / test_share(), n);
  for (std::size_t s = 0; s < all.size() && s * n + i < runs; ++s) some.push_back(all[(i + s) % all.size()]);
  return some;
}

/// Of wide variants, which take the most time, every so many of the cases that they serve: each variant others. So it
/// is with all variants where CI tries a share.
std::vector<ForwardCase> cases_of(const ForwardConfig& c) {
  std::vector<ForwardCase> cases = served_cases(c), some;
  const std::size_t each = static_cast<std::size_t>(std::max(2, c.head_dim / 32)) * test_share();
  for (std::size_t i = 0; i < cases.size(); ++i)
    if ((i + place_of(c)) % each == 0) some.push_back(std::move(cases[i]));
  return some;
}

TEST_P(Forward, IsRightOnAllCases) {
  const auto cases = cases_of(config());
  for (std::size_t i = 0; i < cases.size(); ++i) {
    const ForwardCase& spec = cases[i];
    ForwardData data = make_data(spec);
    const Expected expected = expect(data);
    for (const emu::Options& options : schedules_of(forward_variant_of(GetParam().variant), i, cases.size())) {
      data = make_data(spec);
      const int splits = splits_of(i);
      const auto ran = run(GetParam(), data, options, {}, splits);
      ASSERT_TRUE(ran) << spec.name << " in " << splits << " parts: " << ran.error().message;
      const Verdict verdict = check(data, expected);
      ASSERT_TRUE(verdict.ok) << name_of(options.schedule) << ", " << splits << " parts: " << verdict.message;
    }
  }
}

/// Of so many kernels, each under another schedule than the one before.
void expect_no_defect(const std::vector<EmulatedKernel>& kernels, std::size_t count,
                      std::string (*defect_of)(const EmulatedKernel&, const emu::Options&)) {
  const std::vector<emu::Options> all = schedules();
  for (std::size_t i = 0; i < kernels.size(); ++i)
    EXPECT_EQ(defect_of(kernels[i], all[i % all.size()]), "") << kernels[i].variant.name;
  EXPECT_EQ(kernels.size(), count);
}

TEST(Forward, RoundsOfWholeHeadsShareKeyTiles) { expect_no_defect(kernels_where(takes_heads), 8, whole_heads_defect); }

TEST(Forward, HeadsThatBeginBetweenSectorsAreCopiedFromASectorsStart) {
  expect_no_defect(kernels_where(copies_from_sectors), 8, head_starts_defect);
}

INSTANTIATE_TEST_SUITE_P(Table, Forward, ::testing::ValuesIn(emulated_forwards()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

TEST(Combine, IsRightForAnyNumberOfParts) {
  for (const emu::Options& options : schedules()) EXPECT_EQ(combine_defect(options), "");
}

TEST(Forward, KernelsAreThoseOfTheTable) {
  ASSERT_EQ(emulated_forwards().size(), forward_variants().size());
  for (std::size_t i = 0; i < forward_variants().size(); ++i)
    EXPECT_EQ(forward_variant_of(emulated_forwards()[i].variant).config, forward_variants()[i].config);
}

}  // namespace
}  // namespace flashfit::testing
