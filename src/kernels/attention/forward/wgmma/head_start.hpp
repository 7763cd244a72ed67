#pragma once
// Where a head of k or v begins in memory. Neutral: kernels and hosts share it.
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/tile_columns.hpp"

namespace flashfit {

/// TMA copies heads that begin between two sectors of memory, which are 32 bytes, more slowly. Their tiles begin at
/// the sector's start instead, so many columns further left: the tensor map fills those with zeros, as they lie outside
/// of the head. A row has 16 bytes of them then.
inline constexpr int kColumnsBetweenSectors = 8;

/// Whether a variant does so: those of 192 rows with tiles as short as few copies for a row take, and those whose tiles
/// have unused columns. In others the producer warp was slower.
constexpr bool copies_from_sectors(const ForwardConfig& c) {
  if (c.engine != ForwardEngine::kWgmma || c.kind != ForwardKind::kPlain || c.packs) return false;
  return (c.block_m == 192 && c.stages == 2) || has_wide_tiles(c);
}

/// Whether rows of dense heads of so many columns end between two sectors, so that every second head begins there.
constexpr bool ends_between_sectors(int head_dim) { return head_dim % 16 != 0; }

/// Which heads begin between two sectors: number h does if bit 0 of first + h * head is set. {0, 0}: none, or none
/// whose tiles have room for the columns.
struct HeadStart {
  int first, head;

  constexpr bool is_between(int number) const { return ((first + number * head) & 1) != 0; }
  constexpr bool operator==(const HeadStart&) const = default;
};

}  // namespace flashfit
