#pragma once
// Shared-memory tiles that TMA fills and wgmma reads.
#include "kernels/layout/matrix_descriptor.hpp"

namespace flashfit {

/// Rows x Cols elements in panels as wide as the swizzle's rows: a panel holds all rows of its columns, and is what one
/// TMA box of kPanel columns fills. Rows is a multiple of 8, so that panels start where the pattern does.
template <class T, int Rows, int Cols, SwizzleMode Mode>
struct PanelTile {
  static constexpr int kRows = Rows, kCols = Cols;
  static constexpr SwizzleMode kMode = Mode;
  static constexpr int kRowBytes = row_bytes(Mode);
  static constexpr int kPanel = kRowBytes / int(sizeof(T));  ///< columns of a panel
  static constexpr int kPanels = Cols / kPanel;
  static constexpr int kPanelBytes = Rows * kRowBytes;
  static_assert(Rows % 8 == 0 && Cols % kPanel == 0);

  alignas(pattern_bytes(Mode)) T data[Rows * Cols];

  /// Element offset of (row, col). The 16 bytes from a column on that is a multiple of 16 bytes are contiguous.
  static constexpr int offset(int row, int col) {
    const int at = col / kPanel * kPanelBytes + row * kRowBytes + col % kPanel * int(sizeof(T));
    return int(swizzled(uint32(at), Mode)) / int(sizeof(T));
  }
  /// Element offset of a panel.
  static constexpr int panel(int i) { return i * Rows * kPanel; }

  /// Rows are m (n), columns k: the operand that starts at (row, col), row a multiple of 8 and col of 16.
  /// `address` is that of data.
  static constexpr MatrixDescriptor k_major(uint32 address, int row, int col) {
    static_assert(sizeof(T) == 2);
    return {.address = address + start(row, col),
            .leading_bytes = Mode == SwizzleMode::kNone ? kPanelBytes : 16,
            .stride_bytes = pattern_bytes(Mode),
            .swizzle = Mode};
  }
  /// Rows are k, columns m (n): row a multiple of 8, col of kPanel.
  static constexpr MatrixDescriptor mn_major(uint32 address, int row, int col) {
    static_assert(sizeof(T) == 2);
    constexpr bool kPlain = Mode == SwizzleMode::kNone;
    return {.address = address + start(row, col),
            .leading_bytes = kPlain ? pattern_bytes(Mode) : kPanelBytes,
            .stride_bytes = kPlain ? kPanelBytes : pattern_bytes(Mode),
            .swizzle = Mode};
  }
  /// The encoded descriptor of k_major() or mn_major() at (0, 0), moved to (row, col): much less to compute than
  /// another one. An address below 2^18 does not leave its field of the low word.
  static constexpr uint64 moved(uint64 descriptor, int row, int col) {
    return (descriptor & ~uint64{0xffffffff}) | uint32(uint32(descriptor) + (start(row, col) >> 4));
  }

 private:
  /// Bytes to (row, col) in the plain order: the hardware permutes the sum of address and strides.
  static constexpr uint32 start(int row, int col) {
    return uint32(col / kPanel * kPanelBytes + row * kRowBytes + col % kPanel * int(sizeof(T)));
  }
};

}  // namespace flashfit
