#pragma once
// Numbers that the first columns of q and k hold so that logits are what random numbers do not give: all far below or
// above zero, rising along the keys, few of them far above the rest. Neutral: NVRTC compiles it too.
#include "core/base/types.hpp"

namespace flashfit::reference {

/// 0 in a _q: the column is as random as others. Made by planted_columns().
struct PlantedColumns {
  float shift_q, shift_k;  ///< of column 0: q's, negative in rows that oppose, and k's
  float trend_q, trend_k;  ///< of column 1: q's, and twice k's in the last row; in the first row it is the negative
  float peak;              ///< of column 2: q's, and k's in rows that peak; others have 0
  int opposes;             ///< 1: in rows 1, 4, 7 .. of q the shift has the other sign
  int positive_v;          ///< 1: |v|
};

/// Every so many rows of k peak, and from which on.
inline constexpr int kPeakEvery = 61, kFirstPeak = 7;

/// What element d of row `row` of `rows` holds where a random number would be x. Tensors: 0 q, 1 k, 2 v. Each result is
/// one rounding at most, so that a GPU makes the same bits.
constexpr float planted(const PlantedColumns& p, int tensor, float x, int64 row, int64 rows, int64 d) {
  if (tensor == 2) return p.positive_v != 0 && x < 0 ? -x : x;
  const bool q = tensor == 0;
  if (d == 0 && p.shift_q != 0) return q ? (p.opposes != 0 && row % 3 == 1 ? -p.shift_q : p.shift_q) : p.shift_k;
  if (d == 1 && p.trend_q != 0) return q ? p.trend_q : p.trend_k * (float(row) / float(rows > 1 ? rows - 1 : 1) - 0.5f);
  if (d == 2 && p.peak != 0) return q || row % kPeakEvery == kFirstPeak ? p.peak : 0.f;
  return x;
}

}  // namespace flashfit::reference
