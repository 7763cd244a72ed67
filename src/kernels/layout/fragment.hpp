#pragma once
// Which matrix elements a lane's registers hold in the tensor-core instructions (PTX ISA, "Matrix Fragments for
// mma.m16n8k16", "ldmatrix", "stmatrix" and "Register Fragments for wgmma.mma_async.m64nNk16").

namespace flashfit {

/// The m16n8 fp32 accumulator: element i (0..3) of a lane.
struct AccumulatorMap {
  static constexpr int row(int lane, int i) { return lane / 4 + i / 2 * 8; }
  static constexpr int col(int lane, int i) { return lane % 4 * 2 + i % 2; }
};

/// ldmatrix.x4 reads four 8x8 matrices, stmatrix.x4 writes them; lane l gives the address of row l % 8 of
/// matrix l / 8. Two orders of the four are used.
struct LdmatrixMap {
  // Matrices run down the rows, then right: the A operand, and with .trans the B operand from a [k, n] tile; and 16
  // columns of a wgmma's result, two to a register.
  static constexpr int down_row(int lane) { return lane % 16; }
  static constexpr int down_col(int lane) { return lane / 16 * 8; }
  // Matrices run right, then down: the B operands of two neighbouring n8 tiles from an [n, k] tile.
  static constexpr int right_row(int lane) { return lane % 8 + lane / 16 * 8; }
  static constexpr int right_col(int lane) { return lane / 8 % 2 * 8; }
};

/// The m64nN fp32 accumulator of wgmma: element i (0 .. N / 2 - 1) of a warpgroup's thread (0 .. 127).
struct WgmmaAccumulatorMap {
  static constexpr int row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i / 2 % 2 * 8; }
  static constexpr int col(int thread, int i) { return i / 4 * 8 + thread % 4 * 2 + i % 2; }
};
/// A wgmma accumulator as what it is to each of its four warps: m16n8 accumulators side by side, in the same registers.
template <int Half>
auto as_m16(float (&d)[Half]) -> float (&)[1][Half / 4][4] {
  return reinterpret_cast<float(&)[1][Half / 4][4]>(d);
}

/// The m64k16 A operand of wgmma in registers: half h (0 low, 1 high) of register i (0 .. 3). Columns 16 j .. 16 j + 15
/// of an accumulator have it in their elements 8 j + 2 i + h: no data moves from one product to the next.
struct WgmmaAMap {
  static constexpr int row(int thread, int i) { return thread / 32 * 16 + thread % 32 / 4 + i % 2 * 8; }
  static constexpr int col(int thread, int i, int h) { return i / 2 * 8 + thread % 4 * 2 + h; }
};

}  // namespace flashfit
