#pragma once
// Late bases (docs/hopper-kernel.md, "The trusting base"): a tile's weights, computed against a row's base from earlier
// tiles, sum to more than a weight may be. That is rare; the row then gets a larger base, and its weights, sum and
// output are rescaled.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/softmax.cuh"

namespace flashfit {

/// Takes the bases of rows that have none yet: they have no sum and output to rescale.
template <class T, int N8>
void take_missing_bases(const float (&s)[1][N8][4], RowState (&rows)[1][2], float scale_log2) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float top = row_max(top_score(s, 0, h));
    if (rows[0][h].base == kNoBase && passes_base<T>(top, rows[0][h], scale_log2)) rows[0][h].base = top * scale_log2;
  }
}

/// The most that a lane's weights of a row and tile may sum to: none of them has passed the headroom then.
template <class T>
inline constexpr float kMostSum = static_cast<float>(uint64{1} << static_cast<int>(kHeadroom<T> - 1.f)) * 2.f;

/// Weights of larger sums are not rescaled but computed again: the factor would be near the least that exp2 gives,
/// 2^-126, or below.
inline constexpr float kMostDecay = 0x1p100f;

/// Whether a row of the warp has such a sum.
template <class T>
bool sums_pass(const float (&sums)[1][2]) {
  return arch::ballot(sums[0][0] > kMostSum<T> || sums[0][1] > kMostSum<T>) != 0;
}

/// What a lane's two rows need where bases were late.
struct LateRows {
  float bases[2];  ///< the new ones; of rows whose base was not late, the old ones
  bool lost[2];    ///< the sum passed kMostDecay, or there was no base: weights must be computed again, from scores
};

/// Rescales weights and their sums to the new bases, except in rows that are lost. Whether a row's base moves depends
/// on its own weights alone.
template <class T, int N8>
LateRows follow_weights(float (&weights)[1][N8][4], float (&sums)[1][2], const RowState (&rows)[1][2]) {
  LateRows late;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float most = row_max(sums[0][h]), top = row_max(top_score(weights, 0, h));
    const bool follows = most > kMostSum<T>;
    late.lost[h] = follows && !(most < kMostDecay);
    late.bases[h] = rows[0][h].base;
    if (!follows || late.lost[h]) continue;
    late.bases[h] += arch::log2(top);
    const float decay = arch::exp2(rows[0][h].base - late.bases[h]);
#pragma unroll
    for (int n = 0; n < N8; ++n) {
      weights[0][n][2 * h] *= decay;
      weights[0][n][2 * h + 1] *= decay;
    }
    sums[0][h] *= decay;
  }
  return late;
}

/// Rescales outputs and sums of the tiles before to the new bases.
template <int O8>
void follow_bases(float (&o)[1][O8][4], RowState (&rows)[1][2], const LateRows& late) {
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    const float decay = arch::exp2(rows[0][h].base - late.bases[h]);
    rows[0][h] = {late.bases[h], rows[0][h].sum * decay};
#pragma unroll
    for (int n = 0; n < O8; ++n) {
      o[0][n][2 * h] *= decay;
      o[0][n][2 * h + 1] *= decay;
    }
  }
}

}  // namespace flashfit
