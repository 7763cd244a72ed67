// What a caller can do to a kernel that the host cannot check before a launch: offsets of sequences in device memory,
// and values that are no numbers.
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "emulated.hpp"
#include "kernels/attention/forward/plan/candidates.hpp"
#include "place_of.hpp"
#include "share.hpp"

namespace flashfit::testing {
namespace {

using Offsets = std::vector<std::int32_t>;

struct Way {
  emu::Options options;
  int splits;
};

/// Each schedule, the first with its keys at once, the next with them in two parts, and so on.
std::vector<Way> ways() {
  std::vector<Way> all;
  for (const emu::Options& options : schedules()) all.push_back({options, static_cast<int>(all.size()) + 1});
  return all;
}

class Hostile : public ::testing::TestWithParam<EmulatedKernel> {
 protected:
  ForwardCase small(std::vector<std::int64_t> seqlens_q, std::vector<std::int64_t> seqlens_k,
                    bool causal = false) const {
    ForwardCase c;
    c.name = "hostile";
    c.dtype = forward_variant_of(GetParam().variant).config.dtype;
    c.head_dim = forward_variant_of(GetParam().variant).config.head_dim;
    c.head_dim_v = forward_variant_of(GetParam().variant).config.head_dim_v;
    c.heads_q = c.heads_kv = 2;
    c.seqlens_q = std::move(seqlens_q);
    c.seqlens_k = std::move(seqlens_k);
    c.causal = causal;
    return c;
  }

  std::size_t place() const { return place_of(forward_variant_of(GetParam().variant).config); }
};

TEST_P(Hostile, OffsetsNeverLeadOutsideTheTensors) {
  constexpr std::int32_t kLeast = std::numeric_limits<std::int32_t>::min(),
                         kMost = std::numeric_limits<std::int32_t>::max();
  const Offsets wrong[] = {{0, 90, 30, 200},
                           {200, 90, 30, 0},
                           {-5, 90, 150, 200},
                           {0, 90, 150, 201},
                           {0, 0, 0, 0},
                           {7, 7, 7, 7},
                           {kLeast, kMost, kLeast, kMost},
                           {kMost, kLeast, kMost, kLeast},
                           {kMost, kMost, 0, 200},
                           {-1, -1, -1, kMost},
                           {0, 200, 0, 200},
                           {150, 200, 90, 0}};
  ForwardProblem of_lengths = problem_of(small({1}, {1}));
  of_lengths.variable_length = true;
  if (!serves(forward_variant_of(GetParam().variant).config, of_lengths)) GTEST_SKIP() << "takes no offsets";
  // Where CI tries a share of the pairs, each row tries others.
  std::size_t pair = place();
  for (const Offsets& q : wrong) {
    for (const Offsets& k : wrong) {
      if (pair++ % test_share() != 0) continue;
      ForwardCase spec = small({90, 60, 50}, {100, 40, 60}, &q == &k);
      spec.variable_length = true;
      ForwardData data = make_data(spec);
      data.cu_seqlens_q = q;
      data.cu_seqlens_k = k;
      // Sequences that overlap are written by several blocks: a race, and the caller's.
      const auto ran = run(GetParam(), data, {.global_races = false});
      ASSERT_TRUE(ran) << ran.error().message;
      ASSERT_TRUE(data.red_zones_intact());
    }
  }
}

TEST_P(Hostile, NoLseIsWrittenWhenNoneIsWanted) {
  const ForwardCase spec = small({70}, {200}, true);
  ForwardData data = make_data(spec), with_lse = make_data(spec);
  ASSERT_TRUE(run(GetParam(), data, {}, [](ForwardParams& p) { p.lse = nullptr; }));
  ASSERT_TRUE(run(GetParam(), with_lse, {}));
  for (const float x : data.lse) ASSERT_TRUE(std::isnan(x));
  EXPECT_EQ(data.out.storage->bytes, with_lse.out.storage->bytes);
}

TEST_P(Hostile, EachTensorHasItsOwnStrides) {
  const ForwardCase spec = small({70, 70}, {200, 200}, true);
  ForwardData data = make_data_of_mixed_layouts(spec);
  const Expected expected = expect(data);
  const auto ran = run(GetParam(), data, {});
  ASSERT_TRUE(ran) << ran.error().message;
  const Verdict verdict = check(data, expected);
  EXPECT_TRUE(verdict.ok) << verdict.message;
}

TEST_P(Hostile, SchedulesAgreeBitForBit) {
  const ForwardCase spec = small({129, 129}, {257, 257}, true);
  ForwardData first = make_data(spec);
  ASSERT_TRUE(run(GetParam(), first, {}));
  for (const std::uint32_t seed : share_of<std::uint32_t>({1, 2, 3}, place())) {
    ForwardData again = make_data(spec);
    ASSERT_TRUE(run(GetParam(), again, {.kernel = {}, .schedule = emu::Schedule::kRandom, .seed = seed}));
    EXPECT_EQ(first.out.storage->bytes, again.out.storage->bytes) << "seed " << seed;
  }
}

TEST_P(Hostile, NaNStaysInItsRow) {
  const ForwardCase spec = small({70}, {200});
  ForwardData data = make_data(spec), clean = make_data(spec);
  data.q.set(0, 33, 1, 5, NAN);
  ASSERT_TRUE(run(GetParam(), data, {}));
  ASSERT_TRUE(run(GetParam(), clean, {}));
  for (std::int64_t h = 0; h < 2; ++h) {
    for (std::int64_t i = 0; i < 70; ++i) {
      const bool wrong = h == 1 && i == 33;
      ASSERT_EQ(std::isnan(data.lse_at(0, i, h)), wrong) << "row " << i;
      for (std::int64_t d = 0; d < spec.head_dim_v; ++d) {
        const double got = data.out.get(0, i, h, d);
        if (wrong)
          ASSERT_TRUE(std::isnan(got));
        else
          ASSERT_EQ(got, clean.out.get(0, i, h, d)) << "row " << i << " dim " << d;
      }
    }
  }
}

TEST_P(Hostile, NonFiniteValuesReachTheQueriesThatSeeThem) {
  for (const auto& [options, splits] : share_of(std::vector{ways().front(), ways().back()}, place()))
    EXPECT_EQ(containment_defect(GetParam(), options, splits), "") << "keys in " << splits << " parts";
}

TEST_P(Hostile, OffsetsPast2To31Elements) { EXPECT_EQ(far_rows_defect(GetParam(), {}), ""); }

TEST_P(Hostile, ARowsBitsAreItsOwnWhereItsNeighboursScoresRise) {
  for (const auto& [options, splits] : share_of(ways(), place()))
    EXPECT_EQ(neighbours_defect(GetParam(), options, splits), "") << "keys in " << splits << " parts";
}

INSTANTIATE_TEST_SUITE_P(Table, Hostile, ::testing::ValuesIn(emulated_forwards()),
                         [](const auto& kernel) { return kernel.param.variant.name; });

}  // namespace
}  // namespace flashfit::testing
