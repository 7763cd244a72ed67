#pragma once
// Where a head of k or v begins in memory. Neutral: kernels and hosts share it.
#include "kernels/attention/forward/config.hpp"

namespace flashfit {

/// TMA copies heads that begin between two sectors of memory, which are 32 bytes, more slowly. Their tiles begin at
/// the sector's start instead, so many columns further left: the tensor map fills those with zeros, as they lie outside
/// of the head. A row has 16 bytes of them then.
inline constexpr int kColumnsBetweenSectors = 8;

/// Whether a variant does so: the one that takes heads of 72 and 88 columns. In most others the warp that copies would
/// spill, and those of 128 and more columns, whose heads hardly ever begin there, were slower.
constexpr bool copies_from_sectors(const ForwardConfig& c) {
  return c.engine == ForwardEngine::kWgmma && c.head_dim == 96 && c.stages == 2 && c.kind == ForwardKind::kPlain;
}

/// Which heads begin between two sectors: number h does if bit 0 of first + h * head is set. {0, 0}: none, or none
/// whose tiles have room for the columns.
struct HeadStart {
  int first, head;

  constexpr bool is_between(int number) const { return ((first + number * head) & 1) != 0; }
  constexpr bool operator==(const HeadStart&) const = default;
};

}  // namespace flashfit
