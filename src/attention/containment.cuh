#pragma once
// Keeps a NaN or infinity in a value row away from the queries that do not see its key. A tensor core multiplies it
// with the masked weight, and 0 * NaN is NaN.
// Only tiles that a causal mask crosses can need this, and only if one is there.
#include "arch/arch.hpp"
#include "attention/mask.cuh"
#include "layout/fragment.hpp"
#include "layout/swizzle.hpp"

namespace flashfit {

/// NaN and the infinities: all exponent bits set.
template <class T>
bool is_finite(T x) {
  return (x.bits & T::kExponentBits) != T::kExponentBits;
}

/// Whether each half of a word holds a finite T.
template <class T>
bool both_finite(uint32 word) {
  constexpr uint32 kLow = T::kExponentBits, kHigh = kLow << 16;
  return (word & kLow) != kLow && (word & kHigh) != kHigh;
}

/// Whether the tile holds a NaN or an infinity. All threads of the block call it together, after the tile has landed.
template <class T, int Threads, class Tile>
bool any_non_finite(const Tile& s_v) {
  bool found = false;
#pragma unroll
  for (int i = 0; i < Tile::kRows * Tile::kCols / 8 / Threads; ++i) {
    uint32 words[4];
    arch::load_16(words, s_v.data, (i * Threads + arch::thread()) * 8);
#pragma unroll
    for (const uint32 word : words) found |= !both_finite<T>(word);
  }
  return arch::sync_block_or(found);
}

/// Adds the non-finite values of the tile to the output rows that see their keys, then makes them 0 in the tile, which
/// multiplied as usual gives the rest. `o` covers rows first_row .. and follows this tile's maximum already (infinity
/// times a later correction of 0 would be a NaN); the tile's keys are first_key ...
/// All threads of the block call it together.
template <class T, int Threads, int M, int D8, class Tile>
void contain_non_finite(float (&o)[M][D8][4], Tile& s_v, int first_row, int first_key, const Visibility& visible) {
  const int lane = arch::lane();
  int last[M][2];
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) last[m][h] = visible.last(first_row + m * 16 + AccumulatorMap::row(lane, 2 * h));
#pragma unroll 1
  for (int key = 0; key < Tile::kRows; ++key)
#pragma unroll
    for (int n = 0; n < D8; ++n)
#pragma unroll
      for (int c = 0; c < 2; ++c) {
        const T value = s_v.data[Tile::offset(key, n * 8 + AccumulatorMap::col(lane, c))];
        if (is_finite(value)) continue;
#pragma unroll
        for (int m = 0; m < M; ++m)
#pragma unroll
          for (int h = 0; h < 2; ++h)
            if (first_key + key <= last[m][h]) o[m][n][2 * h + c] += arch::widen(value);
      }
  arch::sync_block();
#pragma unroll 1
  for (int i = arch::thread(); i < Tile::kRows * Tile::kCols; i += Threads)
    if (!is_finite(s_v.data[i])) s_v.data[i].bits = 0;
  arch::sync_block();
}

}  // namespace flashfit
