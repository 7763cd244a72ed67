#pragma once
// Online softmax over key tiles (Milakov and Gimelshein, 2018, "Online normalizer calculation for softmax"), against a
// base that follows the maximum only when it must (docs/kernels.md).
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// Neither NaN nor an infinity.
inline bool is_finite(float x) { return x * 0.f == 0.f; }

/// The base of a row that has seen no key: below any score's, and finite, so that -inf - base is no NaN.
inline constexpr float kNoBase = -3e38f;

/// One row: a weight is exp2(score * scale_log2 - base), the sum is over this lane's weights; a row lies in four
/// neighbouring lanes. scale_log2 = softmax_scale * log2(e) > 0: the scale costs nothing, as it is folded into exp2's
/// argument; 1 where scores are made in units of log2 already.
struct RowState {
  float base, sum;
};
/// A row that has seen no key. Written by hand into each row: NVRTC initialises only rows[0] of RowState rows[M][2] by
/// default member initialisers (docs/nvrtc-array-initialisers.md).
inline constexpr RowState kEmptyRow = {kNoBase, 0.f};
template <int M>
void clear(RowState (&rows)[M][2]) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) rows[m][h] = kEmptyRow;
}

/// A score may exceed its row's base by so much, in log2, before the base follows: weights of type T are as precise
/// then as those of at most 1, and far from the end of their range, 2^16 of fp16 and 2^128 of bf16, which outputs have
/// too.
template <class T>
inline constexpr float kHeadroom = 64.f;
template <>
inline constexpr float kHeadroom<f16> = 8.f;

/// Reduces over the four lanes that hold a row.
inline float row_max(float x) {
  x = arch::max(x, arch::shuffle_xor(x, 1));
  return arch::max(x, arch::shuffle_xor(x, 2));
}
inline float row_sum(float x) {
  x += arch::shuffle_xor(x, 1);
  return x + arch::shuffle_xor(x, 2);
}

/// Whether a score is too large for its row's base.
template <class T>
bool passes_base(float score, const RowState& row, float scale_log2) {
  return score * scale_log2 - row.base > kHeadroom<T>;
}

/// The largest of this lane's scores of a row.
template <int M, int N8>
float top_score(const float (&s)[M][N8][4], int m, int h) {
  float top = arch::max(s[m][0][2 * h], s[m][0][2 * h + 1]);
#pragma unroll
  for (int n = 1; n < N8; ++n) top = arch::max(top, arch::max(s[m][n][2 * h], s[m][n][2 * h + 1]));
  return top;
}

/// Whether a row of the warp has a score too large for its base. Rare after a row's first tile, so each lane tests only
/// its own scores, and needs no row maximum by shuffles.
template <class T, int M, int N8>
bool exceeds_base(const float (&s)[M][N8][4], const RowState (&rows)[M][2], float scale_log2) {
  bool exceeds = false;
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) exceeds |= passes_base<T>(top_score(s, m, h), rows[m][h], scale_log2);
  return arch::ballot(exceeds) != 0;
}

/// Takes the bases of rows whose first tile of keys this is: there are no sums and outputs to rescale yet.
template <class T, int M, int N8>
void take_first_bases(const float (&s)[M][N8][4], RowState (&rows)[M][2], float scale_log2) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      const float top = row_max(top_score(s, m, h));
      if (passes_base<T>(top, rows[m][h], scale_log2)) rows[m][h].base = top * scale_log2;
    }
}

/// Moves the bases of rows that have such a score to their maximum, and rescales their sums and outputs. Whether a
/// row's base moves depends on its own scores alone, whatever other rows of the warp hold: its four lanes apply the
/// rule of exceeds_base(), to the last bit.
template <class T, int M, int N8, int O8>
void follow_maximum(const float (&s)[M][N8][4], float (&o)[M][O8][4], RowState (&rows)[M][2], float scale_log2) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      RowState& row = rows[m][h];
      const float top = top_score(s, m, h), base = row_max(top) * scale_log2;
      const bool follows = row_max(passes_base<T>(top, row, scale_log2) ? 1.f : 0.f) > 0.f;
      const float decay = follows ? arch::exp2(row.base - base) : 1.f;
      row = {follows ? base : row.base, row.sum * decay};
#pragma unroll
      for (int n = 0; n < O8; ++n) {
        o[m][n][2 * h] *= decay;
        o[m][n][2 * h + 1] *= decay;
      }
    }
}

/// Scores of n8 tiles Begin .. End - 1 become weights: rounded to T in p as multiply_pb takes them, and added to the
/// rows' sums unrounded.
template <class T, int Begin, int End, int M, int N8>
void weigh(uint32 (&p)[M][N8][2], const float (&s)[M][N8][4], RowState (&rows)[M][2], float scale_log2) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int n = Begin; n < End; ++n)
#pragma unroll
      for (int h = 0; h < 2; ++h) {
        const float lo = arch::exp2(arch::multiply_add(s[m][n][2 * h], scale_log2, -rows[m][h].base));
        const float hi = arch::exp2(arch::multiply_add(s[m][n][2 * h + 1], scale_log2, -rows[m][h].base));
        rows[m][h].sum += lo + hi;
        p[m][n][h] = arch::pack<T>(lo, hi);
      }
}

/// Scores become weights, unrounded, in their place; `sums` are this lane's sums of them.
template <int M, int N8>
void exponentiate(float (&s)[M][N8][4], float (&sums)[M][2], const RowState (&rows)[M][2], float scale_log2) {
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      float sum[2] = {};  // neighbours add up beside each other
#pragma unroll
      for (int n = 0; n < N8; ++n)
#pragma unroll
        for (int i = 0; i < 2; ++i) {
          float& x = s[m][n][2 * h + i];
          x = arch::exp2(arch::multiply_add(x, scale_log2, -rows[m][h].base));
          sum[i] += x;
        }
      sums[m][h] = sum[0] + sum[1];
    }
}

/// All of a tile's weights, after bases have moved where they must. The weights of the first Early n8 tiles are
/// computed against the old bases, while the warp finds out whether these will do, and computed again in the rare case
/// that they do not.
template <class T, int Early, int M, int N8, int O8>
void weigh_checked(uint32 (&p)[M][N8][2], const float (&s)[M][N8][4], float (&o)[M][O8][4], RowState (&rows)[M][2],
                   float scale_log2) {
  RowState likely[M][2];
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) likely[m][h] = rows[m][h];
  weigh<T, 0, Early>(p, s, likely, scale_log2);
  if (exceeds_base<T>(s, rows, scale_log2)) {
    follow_maximum<T>(s, o, rows, scale_log2);
    weigh<T, 0, Early>(p, s, rows, scale_log2);
  } else {
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int h = 0; h < 2; ++h) rows[m][h] = likely[m][h];
  }
  weigh<T, Early, N8>(p, s, rows, scale_log2);
}

/// Whether a row of the warp has no base yet.
template <int M>
bool lacks_base(const RowState (&rows)[M][2]) {
  bool lacks = false;
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) lacks |= rows[m][h].base == kNoBase;
  return arch::ballot(lacks) != 0;
}

/// Whether a row of this lane may have had a score too large for its base: always if one had.
template <class T, int M>
bool sums_exceed(const RowState (&rows)[M][2]) {
  constexpr float kMost = static_cast<float>(uint64{1} << static_cast<int>(kHeadroom<T> - 1.f)) * 2.f;
  bool exceed = false;
#pragma unroll
  for (int m = 0; m < M; ++m)
#pragma unroll
    for (int h = 0; h < 2; ++h) exceed |= rows[m][h].sum > kMost;
  return exceed;
}

}  // namespace flashfit
