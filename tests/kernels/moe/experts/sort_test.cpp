// Choices sorted by expert, under the emulator, beside std::stable_sort.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <numeric>
#include <random>
#include <utility>
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

/// By the kernel; one block a chunk, with a count before where there are several. With offsets `ids` are only as many
/// as there are rows. Fails the test on a finding.
Sorted sort_by_kernel(const std::vector<int>& ids, int low, int owned, int tile_rows, const emu::Options& options,
                      const std::vector<int>& map = {}, const std::vector<int>& offsets = {}) {
  const emulated::EmulatedKernel& kernel = emulated::emulated_experts_rows().front();
  const auto rows = static_cast<int>(ids.size());
  const int chunks = (rows + kSortChunk - 1) / kSortChunk;
  std::vector<int> counts(static_cast<std::size_t>(chunks) * owned, kUnwritten);
  ExpertsProblem p;
  p.tokens = rows, p.top_k = 1, p.low = low, p.high = low + owned;
  Sorted s{.choices = std::vector<int>(ids.size(), kUnwritten),
           .places = std::vector<int>(ids.size(), kUnwritten),
           .tiles = std::vector<ExpertTile>(static_cast<std::size_t>(most_tiles(p, tile_rows)))};
  int tile_count = kUnwritten, taken[2] = {kUnwritten, kUnwritten};
  std::vector<int> summing(2 * kMostPhases, kUnwritten);
  emu::Memory memory;
  const auto writable = [&](const char* name, auto& v) { memory.writable(name, v.data(), v.size() * sizeof v[0]); };
  if (offsets.empty()) memory.read_only("ids", ids.data(), ids.size() * sizeof(int));
  memory.read_only("map", map.data(), map.size() * sizeof(int));
  memory.read_only("offsets", offsets.data(), offsets.size() * sizeof(int));
  writable("counts", counts);
  writable("choices", s.choices);
  writable("places", s.places);
  writable("tiles", s.tiles);
  memory.writable("tile_count", &tile_count, sizeof tile_count);
  memory.writable("taken", taken, sizeof taken);
  writable("summing", summing);
  ExpertsRowsParams params{.step = ExpertsRowsStep::kCount,
                           .ids = ids.data(),
                           .rows = rows,
                           .here = {.low = low,
                                    .owned = owned,
                                    .map = map.empty() ? nullptr : map.data(),
                                    .mapped = static_cast<int>(map.size())},
                           .offsets = offsets.data(),
                           .chunks = chunks,
                           .tile_rows = Divisor(tile_rows),
                           .counts = counts.data(),
                           .choices = s.choices.data(),
                           .places = s.places.data(),
                           .tiles = s.tiles.data(),
                           .tile_count = &tile_count,
                           .taken = taken,
                           .summing = summing.data(),
                           .summing_count = offsets.empty() ? static_cast<int>(summing.size()) : 0,
                           .x = nullptr,
                           .x_row = 0,
                           .gathered = nullptr,
                           .weights = nullptr,
                           .y = nullptr,
                           .out = nullptr,
                           .out_row = 0,
                           .top_k = 1,
                           .columns = 0};
  using enum ExpertsRowsStep;
  for (const ExpertsRowsStep step : {kCount, offsets.empty() ? kPlace : kTake}) {
    if (step == kCount && (chunks == 1 || !offsets.empty())) continue;
    params.step = step;
    const auto ran = kernel.launch({chunks, 1, 1}, &params, memory, options);
    EXPECT_TRUE(ran) << ran.error().message;
  }
  EXPECT_GE(tile_count, 0);
  EXPECT_EQ(taken[0], 0);
  EXPECT_EQ(taken[1], 0);
  EXPECT_EQ(summing, std::vector<int>(summing.size(), offsets.empty() ? 0 : kUnwritten));
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
  // Warps share experts and chunks: several times 24 of a warp's, and more groups of experts than warps.
  expect_sorted(random_ids(70 * kSortChunk - 3, 0, 160), 0, 128, 128, {});
  expect_sorted(random_ids(35 * kSortChunk, 0, 300), 0, 290, 128, {});
}

TEST(ExpertsSort, LeavesOutWhatIsNotOwned) {
  constexpr int kLeast = std::numeric_limits<int>::min(), kMost = std::numeric_limits<int>::max();
  expect_sorted({4, 5, -1, 8, kLeast, 6, kMost, 5, 9, 3}, 4, 4, 16, {});
  expect_sorted({-1, -1, 512, 7}, 0, 7, 16, {});  // none counts
  expect_sorted(random_ids(100, 0, 8), 3, 0, 16, {});
}

TEST(ExpertsSort, ReadsIdsThroughAMap) {
  const std::vector<int> map = {2, -1, 0, 7, 1, -5};  // of owned experts there are 3
  const std::vector<int> ids = {0, 1, 2, 3, 4, 5, 6, -1, 4, 0, std::numeric_limits<int>::max()};
  std::vector<int> mapped;
  for (const int id : ids) mapped.push_back(id >= 0 && id < 6 ? map[id] : -1);
  const Sorted got = sort_by_kernel(ids, 0, 3, 16, {}, map), want = sort_by_kernel(mapped, 0, 3, 16, {});
  EXPECT_EQ(got.choices, want.choices);
  EXPECT_EQ(got.places, want.places);
  ASSERT_EQ(got.tiles.size(), 3u);
}

/// Experts' rows as [begin, end), from tiles.
std::vector<std::pair<int, int>> segments_of(const Sorted& s, int owned) {
  std::vector<std::pair<int, int>> segments(static_cast<std::size_t>(owned));
  for (std::size_t i = 0; i < s.tiles.size(); ++i) {
    const ExpertTile& t = s.tiles[i];
    segments[static_cast<std::size_t>(t.expert)] = {t.first_row, t.first_row + t.rows};
    EXPECT_LE(static_cast<std::size_t>(t.first_tile), i);
  }
  return segments;
}

TEST(ExpertsSort, TakesRowsThatComeSorted) {
  for (const emu::Options& options : schedules())
    for (const int rows : {1, 40, 2 * kSortChunk + 3}) {
      const std::vector<int> offsets = {0, rows / 3, rows / 3, rows / 2, rows};
      const Sorted s = sort_by_kernel(std::vector<int>(static_cast<std::size_t>(rows)), 0, 4, 16, options, {}, offsets);
      for (int row = 0; row < rows; ++row) {
        ASSERT_EQ(s.choices[row], row);
        ASSERT_EQ(s.places[row], row);
      }
      const auto segments = segments_of(s, 4);
      int tiles = 0;
      for (int e = 0; e < 4; ++e) {
        const std::pair none{0, 0}, own{offsets[e], offsets[e + 1]};
        EXPECT_EQ(segments[e], offsets[e] < offsets[e + 1] ? own : none);
        tiles += (offsets[e + 1] - offsets[e] + 15) / 16;
      }
      EXPECT_EQ(static_cast<int>(s.tiles.size()), tiles);
    }
  std::vector<int> many(kMostExperts + 1);
  for (int e = 0; e <= kMostExperts; ++e) many[e] = e * 2;
  const Sorted s = sort_by_kernel(std::vector<int>(2 * kMostExperts), 0, kMostExperts, 16, {}, {}, many);
  ASSERT_EQ(s.tiles.size(), static_cast<std::size_t>(kMostExperts));
  EXPECT_EQ(s.tiles.back().first_row, 2 * kMostExperts - 2);
  EXPECT_EQ(s.tiles.back().rows, 2);
}

TEST(ExpertsSort, WrongOffsetsStayInsideTheRows) {
  const int least = std::numeric_limits<int>::min(), most = std::numeric_limits<int>::max();
  for (const std::vector<int>& offsets :
       {std::vector<int>{5, 3, 90, 8, 40}, {least, most, 0, 7, 9}, {7, 7, 7, 7, 7}, {-4, 10, 5, 20, most}}) {
    const Sorted s = sort_by_kernel(std::vector<int>(50), 0, 4, 16, {}, {}, offsets);
    std::vector<int> owners(50, -1);
    for (const ExpertTile& t : s.tiles)
      if (&t - s.tiles.data() == t.first_tile)
        for (int row = t.first_row; row < t.first_row + t.rows; ++row) {
          ASSERT_GE(row, 0);
          ASSERT_LT(row, 50);
          ASSERT_EQ(owners[row], -1) << "two experts have row " << row;
          owners[row] = t.expert;
        }
    for (int row = 0; row < 50; ++row) EXPECT_EQ(s.places[row] >= 0, owners[row] >= 0) << row;
  }
}

}  // namespace
}  // namespace flashfit::testing
