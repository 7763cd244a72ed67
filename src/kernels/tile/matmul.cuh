#pragma once
// A warp's matrix products over shared tiles: `M` m16 tiles of rows against N8 columns, fp32 accumulators in registers.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/fragment.hpp"
#include "kernels/layout/swizzle.hpp"

namespace flashfit {

/// One k16 step of a warp's A operand: `M` m16 tiles of rows.
template <int M>
using FragmentA = uint32[M][4];

/// The A operand read from shared memory at each step: rows first_row .. of a [rows, k] tile.
template <class TileA>
class SharedA {
 public:
  SharedA(const TileA& s_a, int first_row)
      : s_a_(s_a),
        at_(TileA::offset(first_row + LdmatrixMap::down_row(arch::lane()), LdmatrixMap::down_col(arch::lane()))) {}
  template <int M>
  void load(FragmentA<M>& a, int k) const {
    arch::ldmatrix_x4(a, s_a_.data, [&](int m) { return TileA::down(TileA::right(at_, k), m * 16); });
  }

 private:
  const TileA& s_a_;
  int at_;
};

/// The A operand read from shared memory, but for its last `Held` k16 steps: those stay in registers from hold() on.
template <class TileA, int M, int Held>
class PartlyHeldA {
 public:
  explicit PartlyHeldA(const SharedA<TileA>& a) : a_(a) {}
  void hold() {
#pragma unroll
    for (int i = 0; i < Held; ++i) a_.load(held_[i], 16 * (kRead + i));
  }
  void load(FragmentA<M>& a, int k) const {
    if (k / 16 < kRead) return a_.load(a, k);
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) a[m][i] = held_[k / 16 - kRead][m][i];
  }

 private:
  static constexpr int kRead = TileA::kCols / 16 - Held;
  SharedA<TileA> a_;
  FragmentA<M> held_[Held == 0 ? 1 : Held];
};

/// What comes between two products unless told otherwise.
struct Nothing {
  void operator()(int) const {}
};

/// c[m][n] += A B^T: A [rows, k] from a.load(fragment, k), B [n, k] in shared memory. between(i) comes after the
/// i-th group of products, one m16 x n16 x k16 of each m: the place of instructions that may run meanwhile.
template <class T, int M, int N8, class A, class TileB, class Between = Nothing>
void multiply_abt(float (&c)[M][N8][4], const A& a, const TileB& s_b, Between between = {}) {
  static_assert(TileB::kRows == N8 * 8);
  const int lane = arch::lane();
  const auto b =
      arch::in_one_register(s_b.data, TileB::offset(LdmatrixMap::right_row(lane), LdmatrixMap::right_col(lane)));
#pragma unroll
  for (int k = 0; k < TileB::kCols; k += 16) {
    FragmentA<M> fragment;
    a.load(fragment, k);
    arch::mma_m16n8k16<T>(
        c, fragment, b.s_base, [&](int n) { return TileB::down(TileB::right(b.s_offset, k), n * 8); },
        [&](int n) { between((k / 16 * N8 + n) / 2); });
  }
}

/// c[m][n] += P B: P [rows, k] in registers, as pairs of T where an accumulator fragment holds pairs of fp32:
/// p[m][k / 8][row / 8]. B [k, n] in shared memory. The accumulator's layout of two n8 tiles is the A operand's of one
/// k16: P never leaves registers. c's columns are those of B from first_col on, a multiple of its panels' where it is
/// not 0.
template <class T, int M, int K8, int N8, class TileB>
void multiply_pb(float (&c)[M][N8][4], const uint32 (&p)[M][K8][2], const TileB& s_b, int first_col) {
  static_assert(TileB::kRows == K8 * 8 && TileB::kCols % (N8 * 8) == 0);
  const int lane = arch::lane();
  const auto b = arch::in_one_register(
      s_b.data, TileB::offset(LdmatrixMap::down_row(lane), first_col + LdmatrixMap::down_col(lane)));
#pragma unroll
  for (int k = 0; k < K8; k += 2) {
    FragmentA<M> a;
#pragma unroll
    for (int m = 0; m < M; ++m)
#pragma unroll
      for (int i = 0; i < 4; ++i) a[m][i] = p[m][k + i / 2][i % 2];
    arch::mma_m16n8k16_trans<T>(
        c, a, b.s_base, [&](int n) { return TileB::down(TileB::right(b.s_offset, n * 8), k * 8); }, Nothing{});
  }
}

}  // namespace flashfit
