// The workspace's parts: in order, apart, and enough however tokens choose.
#include "kernels/moe/experts/workspace.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <vector>

#include "kernels/moe/experts/config.hpp"

namespace flashfit {
namespace {

ExpertsProblem problem(std::int64_t tokens, int top_k, int owned) {
  return {.dtype = DType::kBF16,
          .tokens = tokens,
          .experts = owned + 5,
          .top_k = top_k,
          .hidden = 2048,
          .intermediate = 768,
          .low = 2,
          .high = 2 + owned};
}

TEST(ExpertsWorkspace, PartsLieApart) {
  for (const std::int64_t tokens : {1, 64, 5000, 1 << 20}) {
    const ExpertsProblem p = problem(tokens, 8, 128);
    const ExpertsWorkspace w = experts_workspace(p);
    const std::int64_t rows = p.rows();
    EXPECT_EQ(w.counts, 0);
    EXPECT_GE(w.choices, w.counts + (rows + kSortChunk - 1) / kSortChunk * 128 * 4);
    EXPECT_GE(w.places, w.choices + rows * 4);
    EXPECT_GE(w.tiles, w.places + rows * 4);
    EXPECT_GE(w.tile_count, w.tiles + most_tiles(p, kFewestTileRows) * 16);
    EXPECT_GE(w.taken, w.tile_count + 4);
    EXPECT_GE(w.summing, w.taken + 8);
    EXPECT_GE(w.h, w.summing + 2 * kMostPhases * 4);
    EXPECT_GE(w.y, w.h + rows * 768 * 2);
    EXPECT_GE(w.bytes, w.y + rows * 2048 * 2);
    for (const std::int64_t at : {w.choices, w.places, w.tiles, w.tile_count, w.taken, w.summing, w.h, w.y, w.bytes})
      EXPECT_EQ(at % 256, 0);
  }
  EXPECT_EQ(workspace_bytes(problem(0, 8, 128)), 0);
}

TEST(ExpertsWorkspace, HasRoomForTheTilesOfAnyChoice) {
  std::mt19937 random(5);
  for (int round = 0; round < 2000; ++round) {
    const int owned = 1 + static_cast<int>(random() % 9), rows = 1 + static_cast<int>(random() % 100);
    const int tile_rows = 1 << random() % 6;
    std::vector<int> counts(static_cast<std::size_t>(owned));
    for (int i = 0; i < rows; ++i) ++counts[std::min<std::size_t>(random() % 12 * random() % 12, owned - 1)];
    std::int64_t tiles = 0;
    for (const int count : counts) tiles += (count + tile_rows - 1) / tile_rows;
    EXPECT_LE(tiles, most_tiles(problem(rows, 1, owned), tile_rows));
  }
  // And for no more than may be: an expert has a row, and one all others, which fill their tiles but for one row.
  EXPECT_EQ(most_tiles(problem(3 + 1 + 2 * 16, 1, 4), 16), 6);
}

}  // namespace
}  // namespace flashfit
