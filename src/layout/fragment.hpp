#pragma once
// Which matrix elements a lane's registers hold in the tensor-core instructions (PTX ISA, "Matrix Fragments for
// mma.m16n8k16" and "ldmatrix").

namespace flashfit {

/// The m16n8 fp32 accumulator: element i (0..3) of a lane.
struct AccumulatorMap {
  static constexpr int row(int lane, int i) { return lane / 4 + i / 2 * 8; }
  static constexpr int col(int lane, int i) { return lane % 4 * 2 + i % 2; }
};

/// ldmatrix.x4 reads four 8x8 matrices; lane l gives the address of row l % 8 of
/// matrix l / 8. Two orders of the four are used.
struct LdmatrixMap {
  // Matrices run down the rows, then right: the A operand, and with .trans the B operand from a [k, n] tile.
  static constexpr int down_row(int lane) { return lane % 16; }
  static constexpr int down_col(int lane) { return lane / 16 * 8; }
  // Matrices run right, then down: the B operands of two neighbouring n8 tiles from an [n, k] tile.
  static constexpr int right_row(int lane) { return lane % 8 + lane / 16 * 8; }
  static constexpr int right_col(int lane) { return lane / 8 % 2 * 8; }
};

}  // namespace flashfit
