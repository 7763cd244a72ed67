#pragma once
// A warp's matrix products over shared tiles: `M` m16 tiles of rows against N8 columns, fp32 accumulators in registers.
#include "arch/arch.hpp"
#include "layout/fragment.hpp"
#include "layout/swizzle.hpp"

namespace flashfit {

/// c[m][n] += rows first_row + 16 m .. of A times rows 8 n .. of B, transposed: A [rows, k], B [n, k].
template <class T, int M, int N8, class TileA, class TileB>
void multiply_abt(float (&c)[M][N8][4], const TileA& s_a, int first_row, const TileB& s_b) {
  static_assert(TileA::kCols == TileB::kCols && TileB::kRows == N8 * 8);
  const int lane = arch::lane();
  const int a_at = TileA::offset(first_row + LdmatrixMap::down_row(lane), LdmatrixMap::down_col(lane));
  const int b_at = TileB::offset(LdmatrixMap::right_row(lane), LdmatrixMap::right_col(lane));
#pragma unroll
  for (int k = 0; k < TileA::kCols; k += 16) {
    uint32 a[M][4];
    arch::ldmatrix_x4(a, s_a.data, [&](int m) { return TileA::down(TileA::right(a_at, k), m * 16); });
    arch::mma_m16n8k16<T>(c, a, s_b.data, [&](int n) { return TileB::down(TileB::right(b_at, k), n * 8); });
  }
}

/// c[m][n] += P B: P [rows, k] in accumulator fragments of fp32, rounded to T here, B [k, n] in shared memory.
/// The accumulator's layout of two n8 tiles is the A operand's of one k16: P never leaves registers.
template <class T, int M, int K8, int N8, class TileB>
void multiply_pb(float (&c)[M][N8][4], const float (&p)[M][K8][4], const TileB& s_b) {
  static_assert(TileB::kRows == K8 * 8 && TileB::kCols == N8 * 8);
  const int lane = arch::lane();
  const int b_at = TileB::offset(LdmatrixMap::down_row(lane), LdmatrixMap::down_col(lane));
#pragma unroll
  for (int k = 0; k < K8; k += 2) {
    uint32 a[M][4];
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) a[m][i] = arch::pack<T>(p[m][k + i / 2][i % 2 * 2], p[m][k + i / 2][i % 2 * 2 + 1]);
    arch::mma_m16n8k16_trans<T>(c, a, s_b.data, [&](int n) { return TileB::down(TileB::right(b_at, n * 8), k * 8); });
  }
}

}  // namespace flashfit
