// Choices sorted by expert, under the emulator, beside std::stable_sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <vector>

#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/variants.hpp"
#include "kernels/moe/experts/workspace.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/schedules.hpp"
#include "proof/emulated/experts.hpp"

namespace flashfit::testing {
namespace {

struct Sorted {
  std::vector<int> choices, places;
  std::vector<ExpertTile> tiles;
};

constexpr int kUnwritten = -7;

/// By the kernel; one block a chunk, with a count before where there are several. Fails the test on a finding.
Sorted sort_by_kernel(std::vector<int> ids, int low, int owned, int tile_rows, const emu::Options& options) {
  const emulated::EmulatedKernel& kernel = emulated::emulated_experts_rows().front();
  const auto rows = static_cast<int>(ids.size());
  const int chunks = (rows + kSortChunk - 1) / kSortChunk;
  std::vector<int> counts(static_cast<std::size_t>(chunks) * owned, kUnwritten);
  ExpertsProblem p;
  p.tokens = rows, p.top_k = 1, p.low = low, p.high = low + owned;
  Sorted s{.choices = std::vector<int>(ids.size(), kUnwritten),
           .places = std::vector<int>(ids.size(), kUnwritten),
           .tiles = std::vector<ExpertTile>(static_cast<std::size_t>(most_tiles(p, tile_rows)))};
  int tile_count = kUnwritten;
  emu::Memory memory;
  const auto writable = [&](const char* name, auto& v) { memory.writable(name, v.data(), v.size() * sizeof v[0]); };
  memory.read_only("ids", ids.data(), ids.size() * sizeof(int));
  writable("counts", counts);
  writable("choices", s.choices);
  writable("places", s.places);
  writable("tiles", s.tiles);
  memory.writable("tile_count", &tile_count, sizeof tile_count);
  ExpertsRowsParams params{.step = ExpertsRowsStep::kCount,
                           .ids = ids.data(),
                           .rows = rows,
                           .low = low,
                           .owned = owned,
                           .chunks = chunks,
                           .tile_rows = Divisor(tile_rows),
                           .counts = counts.data(),
                           .choices = s.choices.data(),
                           .places = s.places.data(),
                           .tiles = s.tiles.data(),
                           .tile_count = &tile_count,
                           .weights = nullptr,
                           .y = nullptr,
                           .out = nullptr,
                           .out_row = 0,
                           .top_k = 1,
                           .columns = 0};
  for (const ExpertsRowsStep step : {ExpertsRowsStep::kCount, ExpertsRowsStep::kPlace}) {
    if (step == ExpertsRowsStep::kCount && chunks == 1) continue;
    params.step = step;
    const auto ran = kernel.launch({chunks, 1, 1}, &params, memory, options);
    EXPECT_TRUE(ran) << ran.error().message;
  }
  EXPECT_GE(tile_count, 0);
  EXPECT_LE(tile_count, static_cast<int>(s.tiles.size()));
  s.tiles.resize(static_cast<std::size_t>(std::max(tile_count, 0)));
  return s;
}

void expect_sorted(const std::vector<int>& ids, int low, int owned, int tile_rows, const emu::Options& options) {
  const Sorted got = sort_by_kernel(ids, low, owned, tile_rows, options);
  std::vector<int> want(ids.size());
  std::iota(want.begin(), want.end(), 0);
  std::erase_if(want, [&](int i) { return ids[i] < low || ids[i] >= low + owned; });
  std::ranges::stable_sort(want, {}, [&](int i) { return ids[i]; });
  for (std::size_t row = 0; row < want.size(); ++row) ASSERT_EQ(got.choices[row], want[row]) << row;
  for (std::size_t row = want.size(); row < ids.size(); ++row) ASSERT_EQ(got.choices[row], kUnwritten) << row;
  std::vector<int> places(ids.size(), -1);
  for (std::size_t row = 0; row < want.size(); ++row) places[want[row]] = static_cast<int>(row);
  ASSERT_EQ(got.places, places);

  std::size_t tile = 0;
  for (int row = 0; row < static_cast<int>(want.size());) {
    const int expert = ids[want[row]] - low, first_tile = static_cast<int>(tile);
    int rows = 0;
    while (row + rows < static_cast<int>(want.size()) && ids[want[row + rows]] - low == expert) ++rows;
    for (int i = 0; i < rows; i += tile_rows, ++tile) {
      ASSERT_LT(tile, got.tiles.size());
      const ExpertTile& t = got.tiles[tile];
      EXPECT_EQ(t.expert, expert);
      EXPECT_EQ(t.first_tile, first_tile);
      EXPECT_EQ(t.first_row, row);
      EXPECT_EQ(t.rows, rows);
    }
    row += rows;
  }
  EXPECT_EQ(tile, got.tiles.size());
}

std::vector<int> random_ids(int count, int low, int high) {
  std::mt19937 random(static_cast<unsigned>(count * 31 + high));
  std::vector<int> ids(static_cast<std::size_t>(count));
  for (int& id : ids) id = low + static_cast<int>(random() % static_cast<unsigned>(high - low));
  return ids;
}

TEST(ExpertsSort, IsStableWhateverTheNumbers) {
  for (const emu::Options& options : schedules()) {
    for (const int count : {1, 31, 32, 33, 255, 257, 2047, 2048})
      expect_sorted(random_ids(count, 0, 9), 0, 9, 16, options);
    expect_sorted(random_ids(700, 0, kMostExperts), 0, kMostExperts, 16, options);
    expect_sorted(random_ids(300, 0, 1), 0, 1, 128, options);
  }
}

TEST(ExpertsSort, OfManyChunks) {
  for (const emu::Options& options : schedules()) {
    expect_sorted(random_ids(3 * kSortChunk + 5, 0, 64), 0, 64, 16, options);
    expect_sorted(random_ids(2 * kSortChunk, -3, 40), 10, 20, 16, options);
  }
  expect_sorted(std::vector<int>(2 * kSortChunk + 1, 3), 0, 8, 16, {});  // one expert has all
}

TEST(ExpertsSort, LeavesOutWhatIsNotOwned) {
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  expect_sorted({4, 5, -1, 8, kLeast, 6, kMost, 5, 9, 3}, 4, 4, 16, {});
  expect_sorted({-1, -1, 512, 7}, 0, 7, 16, {});  // none counts
  expect_sorted(random_ids(100, 0, 8), 3, 0, 16, {});
}

}  // namespace
}  // namespace flashfit::testing
