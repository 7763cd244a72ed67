#pragma once
// Where a head of k or v begins in memory. Neutral: kernels and hosts share it.
#include "core/base/types.hpp"

namespace flashfit {

/// TMA copies heads that begin between two sectors of memory, which are 32 bytes, more slowly. Their tiles begin at
/// the sector's start instead, so many columns further left: the tensor map fills those with zeros, as they lie outside
/// of the head. A row has 16 bytes of them then.
inline constexpr int kColumnsBetweenSectors = 8;

/// Which heads begin between two sectors: number h does if bit 0 of first + h * head is set. {0, 0}: none, or none
/// whose tiles have room for the columns.
struct HeadStart {
  int first, head;

  /// Columns by which the head's tiles begin further left.
  constexpr int columns_before(int number) const { return ((first + number * head) & 1) * kColumnsBetweenSectors; }
};

}  // namespace flashfit
