#pragma once
// ALiBi where a lane has the scores of two rows in registers: score -= slope |diagonal - key|.
#include "kernels/arch/arch.hpp"

namespace flashfit {

inline float magnitude(float x) { return __builtin_bit_cast(float, __builtin_bit_cast(uint32, x) & 0x7fffffffu); }

/// Products become scores in units of log2. `distance` is that of the lane's first row to its first key; those of all
/// others follow by constants, exactly while they are below 2^24.
template <int N8>
void add_alibi(float (&c)[1][N8][4], float scale_log2, float slope_log2, float distance) {
#pragma unroll
  for (int n = 0; n < N8; ++n)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const float of_this = magnitude(distance + static_cast<float>(i / 2 * 8 - n * 8 - i % 2));
      c[0][n][i] = arch::multiply_add(c[0][n][i], scale_log2, -slope_log2 * of_this);
    }
}

}  // namespace flashfit
