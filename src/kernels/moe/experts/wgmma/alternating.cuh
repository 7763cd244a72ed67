#pragma once
// Transposed weights whose outputs alternate, gate, up, gate, ... (GPT-OSS): a gate and its up are neighbouring rows of
// a wgmma's m, so lanes four apart have them. One exchange brings both of a feature into one thread, as other layouts
// have them from the start; only which feature a thread has differs (docs/moe-kernels.md, "Transposed weights").
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"

namespace flashfit {

/// `lo` and `hi` are the sums of 64 rows of m each, 32 features, in wgmma's accumulators: `lo` becomes the gates of 64
/// features and `hi` their ups, for the first `rows` columns and no more than 7 after them.
template <int Half>
void gather_pairs(float (&lo)[Half], float (&hi)[Half], int rows) {
  const bool has_ups = arch::lane() / 4 % 2 != 0;
#pragma unroll
  for (int i = 0; i < Half; i += 4) {
    if (2 * i >= rows) break;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      // A lane's rows are m and m + 8. In each of both runs, a lane of gates sends its second row's element, and
      // receives the up of its first row's gate.
      float &a = lo[i + e], &b = lo[i + e + 2], &c = hi[i + e], &d = hi[i + e + 2];
      const float of_lo = arch::shuffle_xor(has_ups ? a : b, 4), of_hi = arch::shuffle_xor(has_ups ? c : d, 4);
      const float gate = has_ups ? of_lo : a, up = has_ups ? b : of_lo;
      b = has_ups ? of_hi : c, d = has_ups ? d : of_hi;
      a = gate, c = up;
    }
  }
}

/// The same of one element of one run, and of the one that is 8 rows of m further on: a gate and its up.
inline void gather_pair(float& first, float& second) {
  const bool has_ups = arch::lane() / 4 % 2 != 0;
  const float given = arch::shuffle_xor(has_ups ? first : second, 4);
  const float gate = has_ups ? given : first, up = has_ups ? second : given;
  first = gate, second = up;
}

/// Which of 64 features a thread's elements i are after gather_pairs(), as WgmmaAccumulatorMap::row() says before: 8
/// neighbours in the lanes' order 0, 4, 1, 5, 2, 6, 3, 7, and 32 further on the second ones.
struct AlternatingMap {
  static constexpr int row(int thread, int i) {
    const int group = thread % 32 / 4;
    return thread / 32 * 8 + group / 2 + group % 2 * 4 + i / 2 % 2 * 32;
  }
};

/// 8 numbers of those neighbours, in the order of the lanes, in that of the features.
inline Bytes16 in_order(const Bytes16& x) {
  Bytes16 y;
#pragma unroll
  for (int i = 0; i < 2; ++i) {
    const uint32 a = x.words[2 * i], b = x.words[2 * i + 1];
    y.words[i] = (a & 0xffffu) | b << 16;
    y.words[i + 2] = a >> 16 | (b & 0xffff0000u);
  }
  return y;
}

}  // namespace flashfit
