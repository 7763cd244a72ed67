// The slots that the plan counts are those that blocks find their rows in (kernels/attention/schedule.cuh).
#include <gtest/gtest.h>

#include <random>
#include <set>

#include "kernels/attention/forward/plan/candidates.hpp"
#include "kernels/attention/forward/plan/problems.hpp"

namespace flashfit {
namespace {

TEST(Slots, DenseIsTilesTimesBatch) {
  EXPECT_EQ(slots_for(test::dense({.batch = 3, .queries = 129}), 64), 9);
  EXPECT_EQ(slots_for(test::dense({.batch = 3, .queries = 128}), 64), 6);
  EXPECT_EQ(slots_for(test::dense({.batch = 3, .queries = 0}), 64), 0);
  EXPECT_EQ(slots_for(test::dense({.batch = 0}), 64), 0);
  EXPECT_EQ(slots_for(test::dense({.heads = 0}), 64), 0);
}

TEST(Slots, GridLimitIsExact) {
  ForwardProblem p = test::dense({.batch = kMaxGrid, .heads = 1, .queries = 1});
  EXPECT_EQ(slots_for(p, 64), kMaxGrid);
  p.batch += 1;
  EXPECT_EQ(slots_for(p, 64), std::nullopt);
  p = test::ragged({.batch = 8, .heads = INT64_MAX, .queries = 4096});
  EXPECT_EQ(slots_for(p, 64), std::nullopt);
}

TEST(Slots, APackHasTheRowsOfItsHeads) {
  EXPECT_EQ(slots_for(test::dense({.batch = 3, .heads = 8, .heads_kv = 2, .queries = 17}), 64, 4), 6);
  EXPECT_EQ(slots_for(test::ragged({.batch = 3, .heads = 8, .heads_kv = 2, .queries = 100}), 64, 4), 9);
  ForwardProblem p = test::dense({.heads = 4, .heads_kv = 1, .queries = kMaxRows / 4});
  EXPECT_TRUE(slots_for(p, 64, 4));
  p.seqlen_q += 1;
  EXPECT_EQ(slots_for(p, 64, 4), std::nullopt) << "its rows pass those of any sequence";
  // Kernels count heads of all sequences, packed or not, in 31 bits.
  p = test::dense({.batch = kMaxGrid / 4, .heads = 4, .heads_kv = 1, .queries = 1});
  EXPECT_TRUE(slots_for(p, 64, 4));
  p.batch += 1;
  EXPECT_EQ(slots_for(p, 64, 4), std::nullopt);
}

TEST(Slots, EveryTileOfEverySequenceHasASlotOfItsOwn) {
  std::mt19937 engine(7);
  const auto below = [&](unsigned limit) { return static_cast<int>(engine() % limit); };
  for (int round = 0; round < 300; ++round) {
    const int block_m = round % 2 ? 64 : 128, batch = 1 + below(20);
    std::int64_t offset = 0;
    std::set<std::int64_t> taken;
    std::size_t tiles = 0;
    for (int b = 0; b < batch; ++b) {
      const std::int64_t length = below(4) > 0 ? below(400) : 0;
      for (std::int64_t t = 0; t < (length + block_m - 1) / block_m; ++t, ++tiles)
        taken.insert(offset / block_m + b + t);
      offset += length;
    }
    EXPECT_EQ(taken.size(), tiles) << "two tiles share a slot";
    const auto slots = slots_for(test::ragged({.batch = batch, .queries = offset}), block_m);
    ASSERT_TRUE(slots);
    if (!taken.empty()) {
      EXPECT_LT(*taken.rbegin(), *slots);
    } else {
      EXPECT_EQ(*slots, 0);
    }
  }
}

}  // namespace
}  // namespace flashfit
