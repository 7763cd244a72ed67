// Tiles of kernels/layout/swizzle.hpp: nothing lost, no bank conflict, and short cuts that agree with the map.
#include "kernels/layout/swizzle.hpp"

#include <gtest/gtest.h>

#include <set>
#include <vector>

#include "kernels/layout/fragment.hpp"

namespace flashfit::testing {
namespace {

template <class Tile>
class Swizzle : public ::testing::Test {};

using Tiles = ::testing::Types<SwizzledTile<f16, 64, 32>, SwizzledTile<f16, 64, 64>, SwizzledTile<f16, 32, 96>,
                               SwizzledTile<f16, 32, 128>, SwizzledTile<f16, 48, 192>, SwizzledTile<f16, 128, 256>>;
TYPED_TEST_SUITE(Swizzle, Tiles);

/// The group of four banks (16 bytes) that an element offset falls in.
int bank_group(int offset) { return offset * 2 / 16 % 8; }

TYPED_TEST(Swizzle, IsABijection) {
  std::vector<bool> taken(TypeParam::kRows * TypeParam::kCols);
  for (int row = 0; row < TypeParam::kRows; ++row) {
    for (int col = 0; col < TypeParam::kCols; ++col) {
      const int at = TypeParam::offset(row, col);
      ASSERT_GE(at, 0);
      ASSERT_LT(at, static_cast<int>(taken.size()));
      ASSERT_FALSE(taken[at]) << row << ' ' << col;
      taken[at] = true;
    }
  }
}

TYPED_TEST(Swizzle, ChunksAreContiguousAndAligned) {
  for (int row = 0; row < TypeParam::kRows; ++row) {
    for (int col = 0; col < TypeParam::kCols; ++col) {
      ASSERT_EQ(TypeParam::offset(row, col), TypeParam::offset(row, col / 8 * 8) + col % 8);
      ASSERT_EQ(TypeParam::offset(row, col / 8 * 8) % 8, 0);
    }
  }
}

TYPED_TEST(Swizzle, EightRowsOfAChunkMeetEightBankGroups) {
  for (int row = 0; row < TypeParam::kRows; row += 8) {
    for (int col = 0; col < TypeParam::kCols; col += 8) {
      std::set<int> groups;
      for (int i = 0; i < 8; ++i) groups.insert(bank_group(TypeParam::offset(row + i, col)));
      ASSERT_EQ(groups.size(), 8u) << row << ' ' << col;
    }
  }
}

template <class Tile>
class Copied : public ::testing::Test {};

// Not 96 columns: eight threads' chunks would cross rows of its three narrow panels, and meet.
using CopiedTiles = ::testing::Types<SwizzledTile<f16, 64, 32>, SwizzledTile<f16, 64, 64>, SwizzledTile<f16, 32, 128>,
                                     SwizzledTile<f16, 48, 192>, SwizzledTile<f16, 128, 256>>;
TYPED_TEST_SUITE(Copied, CopiedTiles);

// Eight threads write 128 bytes at once: a row of a panel, or two rows of a narrow one.
TYPED_TEST(Copied, EightThreadsMeetEightBankGroups) {
  constexpr int kChunks = TypeParam::kCols / 8;
  for (int first = 0; first < TypeParam::kRows * kChunks; first += 8) {
    std::set<int> groups;
    for (int i = first; i < first + 8; ++i) groups.insert(bank_group(TypeParam::offset(i / kChunks, i % kChunks * 8)));
    ASSERT_EQ(groups.size(), 8u) << first;
  }
}

TYPED_TEST(Swizzle, RightAgrees) {
  for (int row = 0; row < TypeParam::kRows; ++row)
    for (int col = 0; col < 16; ++col)
      for (int cols = 0; col + cols < TypeParam::kCols; cols += 16)
        ASSERT_EQ(TypeParam::right(TypeParam::offset(row, col), cols), TypeParam::offset(row, col + cols))
            << row << ' ' << col << ' ' << cols;
}

TYPED_TEST(Swizzle, DownAgrees) {
  for (int row = 0; row < TypeParam::kRows; ++row)
    for (int col = 0; col < TypeParam::kCols; ++col)
      for (int rows = 0; row + rows < TypeParam::kRows; rows += 8)
        ASSERT_EQ(TypeParam::down(TypeParam::offset(row, col), rows), TypeParam::offset(row + rows, col))
            << row << ' ' << col << ' ' << rows;
}

TEST(Fragments, CoverTheirMatricesOnce) {
  std::set<std::pair<int, int>> accumulator, down, right;
  for (int l = 0; l < 32; ++l) {
    for (int i = 0; i < 4; ++i) accumulator.emplace(AccumulatorMap::row(l, i), AccumulatorMap::col(l, i));
    down.emplace(LdmatrixMap::down_row(l), LdmatrixMap::down_col(l));
    right.emplace(LdmatrixMap::right_row(l), LdmatrixMap::right_col(l));
  }
  EXPECT_EQ(accumulator.size(), 128u);
  EXPECT_EQ(down.size(), 32u);
  EXPECT_EQ(right, down);
}

TEST(Fragments, OfWgmmaCoverTheirMatricesOnceAndFeedTheNextProduct) {
  constexpr int kN = 96;
  std::set<std::pair<int, int>> accumulator, a;
  for (int t = 0; t < 128; ++t) {
    for (int i = 0; i < kN / 2; ++i) {
      const int row = WgmmaAccumulatorMap::row(t, i), col = WgmmaAccumulatorMap::col(t, i);
      accumulator.emplace(row, col);
      // Of a warp's 16 rows and 8 columns it is the accumulator of mma.
      EXPECT_EQ(row, t / 32 * 16 + AccumulatorMap::row(t % 32, i % 4));
      EXPECT_EQ(col, i / 4 * 8 + AccumulatorMap::col(t % 32, i % 4));
    }
    for (int i = 0; i < 4; ++i)
      for (int h = 0; h < 2; ++h) {
        a.emplace(WgmmaAMap::row(t, i), WgmmaAMap::col(t, i, h));
        for (int j = 0; j < kN / 16; ++j) {
          EXPECT_EQ(WgmmaAMap::row(t, i), WgmmaAccumulatorMap::row(t, 8 * j + 2 * i + h));
          EXPECT_EQ(WgmmaAMap::col(t, i, h) + 16 * j, WgmmaAccumulatorMap::col(t, 8 * j + 2 * i + h));
        }
      }
  }
  EXPECT_EQ(accumulator.size(), 64u * kN);
  EXPECT_EQ(a.size(), 64u * 16);
}

}  // namespace
}  // namespace flashfit::testing
