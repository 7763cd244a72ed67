#pragma once
// Which keys a query row sees, and the masking of a tile of scores by it.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/tile_rows.cuh"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

inline constexpr float kMinusInfinity = __builtin_bit_cast(float, 0xff800000u);

inline int clamp(int x, int low, int high) { return x < low ? low : x > high ? high : x; }

/// A tile's row r sees the keys first(r) .. last(r), none if last(r) < first(r). The diagonal is bottom-right aligned:
/// the last query's is the last key. Two numbers a thread: the rest is read from the arguments where it is needed.
template <bool Packs>
class RowVisibility {
 public:
  RowVisibility(const ForwardParams& p, int queries, int keys) : p_(p), keys_(keys), shift_(keys - queries) {}

  int first(int tile_row) const {
    const int row = TileRows<Packs>::query(p_, tile_row);
    return p_.window_left < 0 || p_.window_left >= row + shift_ ? 0 : row + shift_ - p_.window_left;
  }
  int last(int tile_row) const {
    const int row = TileRows<Packs>::query(p_, tile_row);
    const int right = p_.causal != 0 ? 0 : p_.window_right, end = keys_ - 1;
    return right < 0 || right >= end - (row + shift_) ? end : row + shift_ + right;
  }
  /// Keys from the first on that at least one of the rows up to `row` sees.
  int count(int row) const { return last(row) < 0 ? 0 : last(row) + 1; }
  /// Whether `row` sees all keys from first_key on that an earlier row sees.
  bool sees_from(int row, int first_key) const { return p_.window_left < 0 || first(row) <= first_key; }

 private:
  const ForwardParams& p_;
  int keys_, shift_;
};
using Visibility = RowVisibility<false>;

/// Whether some key may be hidden from some row.
inline bool hides_keys(const ForwardParams& p) {
  return p.causal != 0 || p.window_left >= 0 || p.window_right >= 0 || p.bias_kind != BiasKind::kNone;
}

/// Scores of keys that their row does not see become -inf. c covers rows first_row .. and keys first_key ...
template <bool Packs, int M, int N8>
void mask(float (&c)[M][N8][4], int first_row, int first_key, const RowVisibility<Packs>& visible) {
  const int lane = arch::lane();
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int row = first_row + m * 16 + AccumulatorMap::row(lane, i);
      const int key = first_key + AccumulatorMap::col(lane, i);
      const int low = visible.first(row) - key, high = visible.last(row) - key;
#pragma unroll
      for (int n = 0; n < N8; ++n)
        if (n * 8 > high || n * 8 < low) c[m][n][i] = kMinusInfinity;
    }
}

}  // namespace flashfit
