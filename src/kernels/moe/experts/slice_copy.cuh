#pragma once
// Slices of a product's operands, global memory -> shared tile, asynchronously, 16 bytes a thread and copy: the same
// rows again and again, each time a slice of their columns; or of transposed weights, the same columns and each time
// other rows. All in few registers and instructions, as both run beside products.
#include "kernels/arch/arch.hpp"
#include "kernels/arch/fragments.hpp"

namespace flashfit {

/// How threads share a slice's copies: eight or fewer neighbours copy a row of a panel, and all a few rows in a pass.
template <class Tile, int Threads>
struct SliceShare {
  static constexpr int kChunks = Tile::kPanel / 8, kAtOnce = Threads / kChunks, kPasses = Tile::kRows / kAtOnce;
  static constexpr int kPanels = Tile::kCols / Tile::kPanel;
  static_assert(kAtOnce % 8 == 0 && Tile::kRows % kAtOnce == 0);
  static int row() { return arch::thread() / kChunks; }
  static int column() { return arch::thread() % kChunks * 8; }
};

/// Rows of Tile that may lie anywhere; a slice is Tile::kCols of their columns.
template <class T, class Tile, int Threads>
class RowSlices : SliceShare<Tile, Threads> {
  using Share = SliceShare<Tile, Threads>;
  using Share::kAtOnce, Share::kPasses;
  static_assert(Share::kPanels == 1);

 public:
  /// offset(r) says where the tile's row r lies, elements from g_base; rows from `rows` on become zeros, and columns
  /// from `columns` on, a multiple of 8.
  template <class Offset>
  RowSlices(const T* g_base, int rows, int columns, Offset offset)
      : rows_(rows - Share::row()),
        columns_(columns - Share::column()),
        s_at_(Tile::offset(Share::row(), Share::column())) {
#pragma unroll
    for (int i = 0; i < kPasses; ++i)
      g_row_[i] = g_base + (i * kAtOnce < rows_ ? offset(Share::row() + i * kAtOnce) + Share::column() : 0);
  }

  /// Starts copying the slice that begins at `column` to the tile at s_base + s_offset.
  void start(T* s_base, int s_offset, int column) const {
    const auto to = arch::in_one_register(s_base, s_at_ + s_offset);
    const bool inside = column < columns_;
#pragma unroll
    for (int i = 0; i < kPasses; ++i)
      arch::cp_async_16_of_line(to.s_base, Tile::down(to.s_offset, i * kAtOnce), g_row_[i], column,
                                i * kAtOnce < rows_ && inside);
  }

 private:
  const T* g_row_[kPasses];
  int rows_, columns_;  // from this thread's on
  int s_at_;
};

/// Rows of Tile that lie a stride apart, in two runs, each half of them.
template <class T, class Tile, int Threads>
class StridedSlices : SliceShare<Tile, Threads> {
  using Share = SliceShare<Tile, Threads>;
  using Share::kAtOnce, Share::kPasses;
  static constexpr int kHalf = kPasses / 2;
  static_assert(Share::kPanels == 1 && kPasses % 2 == 0);

 public:
  /// The second run begins `apart` elements behind the first; of each as many rows are there as `rows` says, others
  /// become zeros, and columns from `columns` on, a multiple of 8.
  StridedSlices(const T* g_base, int64 stride, int64 apart, const int (&rows)[2], int columns)
      : g_(g_base + (Share::row() * stride + Share::column())),
        step_(kAtOnce * stride),
        apart_(apart),
        rows_{rows[0] - Share::row(), rows[1] - Share::row()},
        columns_(columns - Share::column()),
        s_at_(Tile::offset(Share::row(), Share::column())) {}

  /// Starts copying the next slice, which begins at `column`, to the tile at s_base + s_offset.
  void start(T* s_base, int s_offset, int column) {
    const auto to = arch::in_one_register(s_base, s_at_ + s_offset);
    const bool inside = column < columns_;
#pragma unroll
    for (int i = 0; i < kPasses; ++i)
      arch::cp_async_16_of_line(to.s_base, Tile::down(to.s_offset, i * kAtOnce), g_,
                                i % kHalf * step_ + i / kHalf * apart_,
                                i % kHalf * kAtOnce < rows_[i / kHalf] && inside);
    g_ += Tile::kCols;
  }

 private:
  const T* g_;  // this thread's first row of the next slice: one addition a copy, of what is the same in all threads
  int64 step_, apart_;
  int rows_[2], columns_;  // from this thread's on
  int s_at_;
};

/// Columns of Tile that lie anywhere, eight together; a slice is Tile::kRows rows of them.
template <class T, class Tile, int Threads>
class ColumnSlices : SliceShare<Tile, Threads> {
  using Share = SliceShare<Tile, Threads>;
  using Share::kAtOnce, Share::kPasses, Share::kPanels;

 public:
  /// column(c) is where the tile's column c, a multiple of 8, lies in a row. Rows from `rows` on become zeros.
  template <class Column>
  ColumnSlices(const T* g_base, int64 row_stride, int rows, Column column)
      : g_(g_base + Share::row() * row_stride),
        step_(kAtOnce * row_stride),
        rows_(rows - Share::row()),
        s_at_(Tile::offset(Share::row(), Share::column())) {
#pragma unroll
    for (int i = 0; i < kPanels; ++i) column_[i] = column(Share::column() + i * Tile::kPanel);
  }

  /// Starts copying the next slice, which begins at `row`, to the tile at s_base + s_offset.
  void start(T* s_base, int s_offset, int row) {
    const auto to = arch::in_one_register(s_base, s_at_ + s_offset);
#pragma unroll
    for (int i = 0; i < kPasses; ++i) {
#pragma unroll
      for (int panel = 0; panel < kPanels; ++panel)
        arch::cp_async_16_of_line(to.s_base,
                                  Tile::down(to.s_offset, i * kAtOnce) + panel * (Tile::kRows * Tile::kPanel), g_,
                                  column_[panel], row + i * kAtOnce < rows_);
      g_ += step_;
    }
  }

 private:
  const T* g_;
  int64 step_;
  int column_[kPanels];
  int rows_;  // from this thread's on
  int s_at_;
};

}  // namespace flashfit
