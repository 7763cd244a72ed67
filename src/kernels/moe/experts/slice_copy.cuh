#pragma once
// Slices of a product's operands, global memory -> shared tile, asynchronously, 16 bytes a thread and copy: the same
// rows again and again, each time a slice of their columns; or of transposed weights, the same columns and each time
// other rows.
#include "kernels/arch/arch.hpp"

namespace flashfit {

/// Where a row of a tile lies.
struct SliceRow {
  int64 offset;  ///< elements from the base
  bool inside;   ///< else zeros
};

/// Rows of Tile that may lie anywhere; a slice is Tile::kCols of their columns.
template <class T, class Tile, int Threads>
class RowSlices {
  static constexpr int kChunks = Tile::kCols / 8, kAtOnce = Threads / kChunks, kPasses = Tile::kRows / kAtOnce;
  static_assert(Tile::kCols == Tile::kPanel && kAtOnce % 8 == 0 && Tile::kRows % kAtOnce == 0);

 public:
  /// row(r) is the SliceRow of the tile's row r. Columns from `columns` on, a multiple of 8, become zeros.
  template <class Row>
  RowSlices(const T* g_base, int columns, Row row)
      : columns_(columns - thread_column()), s_at_(Tile::offset(thread_row(), thread_column())) {
    inside_ = 0;
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
      const SliceRow at = row(thread_row() + i * kAtOnce);
      g_row_[i] = g_base + (at.inside ? at.offset + thread_column() : 0);
      inside_ |= uint32(at.inside) << i;
    }
  }

  /// Starts copying the slice that begins at `column`.
  void start(Tile& s_tile, int column) {
    const auto to = arch::in_one_register(s_tile.data, s_at_);
#pragma unroll
    for (int i = 0; i < kPasses; ++i)
      arch::cp_async_16(to.s_base, Tile::down(to.s_offset, i * kAtOnce), g_row_[i], column,
                        (inside_ >> i & 1) != 0 && column < columns_);
  }

 private:
  static int thread_row() { return arch::thread() / kChunks; }
  static int thread_column() { return arch::thread() % kChunks * 8; }

  const T* g_row_[kPasses];
  uint32 inside_;
  int columns_;  // from this thread's on
  int s_at_;
};

/// Columns of Tile that lie in two runs; a slice is Tile::kRows rows of them.
template <class T, class Tile, int Threads>
class ColumnSlices {
  static constexpr int kChunks = Tile::kCols / 8, kAtOnce = Threads / kChunks, kPasses = Tile::kRows / kAtOnce;
  static_assert(kAtOnce % 8 == 0 && Tile::kRows % kAtOnce == 0);

 public:
  /// column(c) is where the tile's column c, a multiple of 8, begins. Rows from `rows` on become zeros.
  template <class Column>
  ColumnSlices(const T* g_base, int64 row_stride, int rows, Column column)
      : step_(row_stride), s_at_(Tile::offset(thread_row(), thread_column())) {
    const SliceRow at = column(thread_column());
    g_ = g_base + (at.inside ? at.offset + thread_row() * row_stride : 0);
    rows_ = at.inside ? rows - thread_row() : 0;
  }

  void start(Tile& s_tile, int row) {
    const auto to = arch::in_one_register(s_tile.data, s_at_);
#pragma unroll
    for (int i = 0; i < kPasses; ++i)
      arch::cp_async_16(to.s_base, Tile::down(to.s_offset, i * kAtOnce), g_, (row + i * kAtOnce) * step_,
                        row + i * kAtOnce < rows_);
  }

 private:
  static int thread_row() { return arch::thread() / kChunks; }
  static int thread_column() { return arch::thread() % kChunks * 8; }

  const T* g_;
  int64 step_;
  int rows_;  // from this thread's on
  int s_at_;
};

}  // namespace flashfit
