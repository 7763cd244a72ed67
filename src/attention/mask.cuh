#pragma once
// Which keys a query row sees, and the masking of a tile of scores by it.
#include "arch/arch.hpp"
#include "layout/fragment.hpp"

namespace flashfit {

inline constexpr float kMinusInfinity = __builtin_bit_cast(float, 0xff800000u);

/// Row r sees the keys 0 .. last(r). Causal is bottom-right aligned: the last query sees the last key.
struct Visibility {
  int keys;
  int shift;  ///< causal: keys - queries; else so large that every row sees all keys

  Visibility(int queries, int key_count, bool causal)
      : keys(key_count), shift(causal ? key_count - queries : key_count) {}

  /// Negative if the row sees no key.
  int last(int row) const { return row + shift < keys ? row + shift : keys - 1; }
  /// Keys that at least one of the rows up to `row` sees.
  int count(int row) const { return last(row) < 0 ? 0 : last(row) + 1; }
};

/// Scores of keys that their row does not see become -inf. c covers rows first_row .. and keys first_key ...
template <int M, int N8>
void mask(float (&c)[M][N8][4], int first_row, int first_key, const Visibility& visible) {
  const int lane = arch::lane();
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int limit =
          visible.last(first_row + m * 16 + AccumulatorMap::row(lane, i)) - first_key - AccumulatorMap::col(lane, i);
#pragma unroll
      for (int n = 0; n < N8; ++n)
        if (n * 8 > limit) c[m][n][i] = kMinusInfinity;
    }
}

}  // namespace flashfit
