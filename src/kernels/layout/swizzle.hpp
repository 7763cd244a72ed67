#pragma once
// Shared-memory tiles whose ldmatrix meets no bank conflict, nor do 16-byte copies of 32, 64, 128 or 256 columns.
// One truth for kernels, emulator and tests.
#include "core/base/types.hpp"

namespace flashfit {

/// Rows x Cols of 16-bit elements, in panels of up to 64 columns (128 bytes a row). Inside a panel the index of a
/// 16-byte chunk is XORed with the row, so that 8 consecutive rows of one column chunk, what an 8x8 matrix of ldmatrix
/// reads, lie in 8 different groups of four banks. With narrow panels (32 columns) two rows share 128 bytes; then the
/// row pair is what is XORed.
template <class T, int Rows, int Cols>
struct SwizzledTile {
  static_assert(sizeof(T) == 2 && Cols % 32 == 0);
  static constexpr int kRows = Rows, kCols = Cols;
  static constexpr int kPanel = Cols % 64 == 0 ? 64 : 32;  ///< columns of a panel
  static constexpr int kChunks = kPanel / 8;               ///< 16-byte chunks of a panel's row
  static constexpr int kRowsPerLine = 64 / kPanel;         ///< rows in 128 bytes, the width of all banks

  alignas(128) T data[Rows * Cols];

  /// Element offset of (row, col). For col a multiple of 8, the 16 bytes from there are contiguous.
  static constexpr int offset(int row, int col) {
    const int chunk = (col / 8 % kChunks) ^ (row / kRowsPerLine % kChunks);
    return col / kPanel * (Rows * kPanel) + row * kPanel + chunk * 8 + col % 8;
  }
  /// offset(row, col + cols) from offset(row, col), for cols a multiple of 8 that has no bit in common with the place
  /// of col in its panel: one XOR, where offset() costs a dozen instructions.
  static constexpr int right(int offset, int cols) {
    return cols / kPanel * (Rows * kPanel) + (offset ^ cols % kPanel);
  }
  /// offset(row + rows, col) from offset(row, col), for rows a multiple of 8.
  static constexpr int down(int offset, int rows) { return offset + rows * kPanel; }
};

}  // namespace flashfit
