#pragma once
// Global memory -> shared tile, asynchronously, 16 bytes a thread and copy.
#include "arch/arch.hpp"
#include "layout/swizzle.hpp"

namespace flashfit {

/// Copies one tile after another of a [rows, Tile::kCols] matrix with `Threads` threads, downwards. A tile takes
/// kPasses copies of each thread, which a kernel may spread among other instructions.
template <class T, class Tile, int Threads>
class TileCopy {
 public:
  static constexpr int kChunks = Tile::kCols / 8;
  static constexpr int kRowsPerPass = Threads / kChunks;
  static constexpr int kPasses = Tile::kRows / kRowsPerPass;
  static_assert(Threads % kChunks == 0 && Tile::kRows % kRowsPerPass == 0 && kRowsPerPass % 8 == 0,
                "each pass copies whole rows of the swizzle's pattern, all passes the whole tile");

  /// `g_base`: row 0; `row_stride` in elements; rows from `rows` on read as zeros. The first tile begins at first_row.
  TileCopy(const T* g_base, int64 row_stride, int rows, int first_row = 0)
      : g_next_(g_base + (first_row + thread_row()) * row_stride + thread_col()),
        step_(kRowsPerPass * row_stride),
        left_(rows - first_row - thread_row()),
        s_at_(Tile::offset(thread_row(), thread_col())) {}

  /// Starts the r-th pass of the next tile; passes come in order, then next_tile().
  void pass(Tile& s_tile, int r) {
    arch::cp_async_16(s_tile.data, Tile::down(s_at_, r * kRowsPerPass), g_next_, 0, r * kRowsPerPass < left_);
    g_next_ += step_;
  }
  void next_tile() { left_ -= Tile::kRows; }

  /// Starts copying the next tile.
  void start(Tile& s_tile) {
#pragma unroll
    for (int r = 0; r < kPasses; ++r) pass(s_tile, r);
    next_tile();
  }

 private:
  static int thread_row() { return arch::thread() / kChunks; }
  static int thread_col() { return arch::thread() % kChunks * 8; }

  const T* g_next_;  // where this thread's next 16 bytes lie: one addition a copy, where an offset would be a product
  int64 step_;
  int left_;  // rows from this thread's first one of the tile to the end
  int s_at_;
};

}  // namespace flashfit
