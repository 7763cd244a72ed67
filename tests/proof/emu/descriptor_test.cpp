// wgmma's matrix descriptors: their bits, and the elements that they lead to, against the canonical layouts of the
// documentation and against tiles.
#include <gtest/gtest.h>

#include <vector>

#include "kernels/layout/matrix_descriptor.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "kernels/layout/swizzle.hpp"
#include "proof/emu/banks.hpp"

namespace flashfit::testing {
namespace {

constexpr SwizzleMode kModes[] = {SwizzleMode::kNone, SwizzleMode::k32B, SwizzleMode::k64B, SwizzleMode::k128B};

TEST(Descriptor, Bits) {
  // Address 0x12340, leading 0x400, stride 0x800: a quarter byte each from bits 0, 16 and 32.
  const MatrixDescriptor d{.address = 0x12340, .leading_bytes = 0x400, .stride_bytes = 0x800, .swizzle = {}};
  EXPECT_EQ(encode(d), 0x0000'0080'0040'1234u);
  const auto with = [&](SwizzleMode m) {
    MatrixDescriptor other = d;
    other.swizzle = m;
    return encode(other) >> 62;
  };
  EXPECT_EQ(with(SwizzleMode::k128B), 1u);
  EXPECT_EQ(with(SwizzleMode::k64B), 2u);
  EXPECT_EQ(with(SwizzleMode::k32B), 3u);
  MatrixDescriptor moved = d;
  moved.base_offset = 5;
  EXPECT_EQ(encode(moved) >> 49 & 7, 5u);
  // Of an address, 18 bits count: in a cluster, those above name the block.
  moved.address += 1u << 18;
  EXPECT_EQ(decode(encode(moved)).address, 0x12340u);
}

TEST(Descriptor, DecodesWhatWasEncoded) {
  for (const SwizzleMode m : kModes) {
    const MatrixDescriptor d{
        .address = 0x3fff0, .leading_bytes = 0x3ff0, .stride_bytes = 0x2a50, .swizzle = m, .base_offset = 3};
    EXPECT_EQ(decode(encode(d)), d);
  }
}

/// CUTLASS's canonical layouts (mma_traits_sm90_gmma.hpp), in units of 16 bytes: a nest of (extent, stride) for the
/// contiguous index and one for the other, under Swizzle<B, 4, 3>.
uint32 canonical(const MatrixDescriptor& d, Major major, int mn, int k) {
  const uint32 lbo = d.leading_bytes / 16, sbo = d.stride_bytes / 16;
  const int width = d.swizzle == SwizzleMode::kNone  ? 1
                    : d.swizzle == SwizzleMode::k32B ? 2
                    : d.swizzle == SwizzleMode::k64B ? 4
                                                     : 8;
  uint32 unit = 0;
  int byte = 0;
  if (major == Major::kK) {
    // ((8, n), 2) : ((width, SBO), LBO or 1)
    unit = static_cast<uint32>(mn % 8 * width) + static_cast<uint32>(mn / 8) * sbo +
           static_cast<uint32>(k / 8) * (width == 1 ? lbo : 1);
    byte = k % 8 * 2;
  } else {
    // ((width, n), (8, k)) : ((1, LBO), (width, SBO)), but ((1, n), (8, k)) : ((X, SBO), (1, LBO)) without a swizzle
    const int chunk = mn / 8;
    unit = static_cast<uint32>(chunk % width + k % 8 * width) +
           static_cast<uint32>(chunk / width) * (width == 1 ? sbo : lbo) +
           static_cast<uint32>(k / 8) * (width == 1 ? lbo : sbo);
    byte = mn % 8 * 2;
  }
  const uint32 address = d.address + unit * 16;
  const uint32 mask = width == 1 ? 0 : width == 2 ? 0x080 : width == 4 ? 0x180 : 0x380;
  return (address ^ (address & mask) >> 3) + static_cast<uint32>(byte);
}

TEST(Descriptor, ElementsLieAsInTheCanonicalLayouts) {
  for (const SwizzleMode m : kModes)
    for (const Major major : {Major::kK, Major::kMN}) {
      // A step along k inside the pattern's rows moves the start by 32 bytes.
      const uint32 step = major == Major::kK && m != SwizzleMode::kNone ? row_bytes(m) - 32 : 0;
      const MatrixDescriptor d{.address = 0x4000 + step, .leading_bytes = 0x2400, .stride_bytes = 0x0c00, .swizzle = m};
      for (int mn = 0; mn < 256; ++mn)
        for (int k = 0; k < 16; ++k)
          ASSERT_EQ(element_address(d, major, mn, k), canonical(d, major, mn, k))
              << name_of(m) << ' ' << int(major) << " at " << mn << ' ' << k;
    }
}

TEST(Descriptor, ABaseOffsetMovesThePatternWithItsStart) {
  const MatrixDescriptor aligned{
      .address = 0x800, .leading_bytes = 16, .stride_bytes = 1024, .swizzle = SwizzleMode::k128B};
  MatrixDescriptor moved = aligned;
  moved.address += 3 * 128;
  moved.base_offset = moved.address >> 7 & 7;
  for (int mn = 0; mn < 64; ++mn)
    for (int k = 0; k < 16; ++k)
      ASSERT_EQ(element_address(moved, Major::kK, mn, k), element_address(aligned, Major::kK, mn, k) + 3 * 128);
}

template <SwizzleMode Mode>
void expect_descriptors_find_the_tile() {
  using Tile = PanelTile<f16, 48, 128, Mode>;
  constexpr uint32 kBase = 0x2000;
  std::vector<bool> taken(Tile::kRows * Tile::kCols);
  for (int row = 0; row < Tile::kRows; ++row)
    for (int col = 0; col < Tile::kCols; ++col) {
      const int at = Tile::offset(row, col);
      ASSERT_FALSE(taken[at]);
      taken[at] = true;
      ASSERT_EQ(at, Tile::panel(col / Tile::kPanel) + Tile::offset(row, col % Tile::kPanel));
      ASSERT_EQ(at, Tile::offset(row, col / 8 * 8) + col % 8);
    }
  for (int row = 0; row < Tile::kRows; row += 8)
    for (int k = 0; k < Tile::kCols; k += 16)
      for (int mn = row; mn < Tile::kRows; ++mn)
        for (int i = 0; i < 16; ++i)
          ASSERT_EQ(element_address(decode(encode(Tile::k_major(kBase, row, k))), Major::kK, mn - row, i),
                    kBase + 2 * Tile::offset(mn, k + i))
              << name_of(Mode) << " k-major from " << row << ' ' << k;
  for (int k = 0; k < Tile::kRows; k += 16)
    for (int col = 0; col < Tile::kCols; col += Tile::kPanel)
      for (int mn = col; mn < Tile::kCols; ++mn)
        for (int i = 0; i < 16; ++i)
          ASSERT_EQ(element_address(decode(encode(Tile::mn_major(kBase, k, col))), Major::kMN, mn - col, i),
                    kBase + 2 * Tile::offset(k + i, mn))
              << name_of(Mode) << " mn-major from " << k << ' ' << col;
}

TEST(PanelTile, DescriptorsFindItsElements) {
  expect_descriptors_find_the_tile<SwizzleMode::kNone>();
  expect_descriptors_find_the_tile<SwizzleMode::k32B>();
  expect_descriptors_find_the_tile<SwizzleMode::k64B>();
  expect_descriptors_find_the_tile<SwizzleMode::k128B>();
}

TEST(PanelTile, IsTheTileOfLdmatrixWhereBothExist) {
  for (int row = 0; row < 32; ++row)
    for (int col = 0; col < 128; ++col) {
      EXPECT_EQ((PanelTile<f16, 32, 128, SwizzleMode::k128B>::offset(row, col)),
                (SwizzledTile<f16, 32, 128>::offset(row, col)));
      if (col < 96) {
        EXPECT_EQ((PanelTile<f16, 32, 96, SwizzleMode::k64B>::offset(row, col)),
                  (SwizzledTile<f16, 32, 96>::offset(row, col)));
      }
    }
}

/// Why wgmma's operands have no count of bank conflicts: no descriptor can give them any.
TEST(Descriptor, TheRowsOfACoreMatrixLieInDifferentBanks) {
  for (const SwizzleMode mode : kModes)
    for (const Major major : {Major::kK, Major::kMN})
      for (const uint32 bytes : {128u, 144u, 1024u, 4096u + 16}) {
        const MatrixDescriptor d{
            .address = 2048, .leading_bytes = bytes, .stride_bytes = 3 * bytes, .swizzle = mode, .base_offset = 0};
        for (int across = 0; across < 16; across += 8)
          for (int along = 0; along < 16; along += 8) {
            std::vector<std::int32_t> rows;
            for (int i = 0; i < 8; ++i)
              rows.push_back(static_cast<std::int32_t>(major == Major::kK
                                                           ? element_address(d, major, across + i, along)
                                                           : element_address(d, major, along, across + i)));
            EXPECT_EQ(emu::bank_conflicts(rows, 16), 0) << name_of(mode) << ' ' << bytes;
          }
      }
}

}  // namespace
}  // namespace flashfit::testing
