#pragma once
// Global memory -> shared tile, asynchronously, 16 bytes a thread and copy.
#include "arch/arch.hpp"
#include "layout/swizzle.hpp"

namespace flashfit {

/// Copies tiles of one [rows, Tile::kCols] matrix with `Threads` threads. Holds one 64-bit offset per thread; what else
/// an address needs is uniform in the block, or the compiler keeps an address per copy in registers (docs/kernels.md).
template <class T, class Tile, int Threads>
class TileCopy {
 public:
  /// `g_base`: row 0; `row_stride` in elements; rows from `rows` on read as zeros.
  TileCopy(const T* g_base, int64 row_stride, int rows)
      : g_base_(g_base), row_stride_(row_stride), rows_(rows), offset_(thread_row() * row_stride + thread_col()) {}

  /// Starts copying rows first_row .. first_row + Tile::kRows.
  void start(Tile& s_tile, int first_row) const {
    const T* g_tile = g_base_ + first_row * row_stride_;
    const int left = rows_ - first_row - thread_row();
#pragma unroll
    for (int r = 0; r < Tile::kRows; r += kRowsPerPass)
      arch::cp_async_16(s_tile.data, Tile::offset(thread_row() + r, thread_col()), g_tile + r * row_stride_, offset_,
                        r < left);
  }

 private:
  static constexpr int kChunks = Tile::kCols / 8;
  static constexpr int kRowsPerPass = Threads / kChunks;
  static_assert(Threads % kChunks == 0 && Tile::kRows % kRowsPerPass == 0,
                "each pass copies whole rows, all passes the whole tile");

  static int thread_row() { return arch::thread() / kChunks; }
  static int thread_col() { return arch::thread() % kChunks * 8; }

  const T* g_base_;
  int64 row_stride_;
  int rows_;
  int64 offset_;
};

}  // namespace flashfit
