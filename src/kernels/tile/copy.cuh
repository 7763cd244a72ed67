#pragma once
// Global memory -> shared tile, asynchronously, 16 bytes a thread and copy.
#include "kernels/arch/arch.hpp"
#include "kernels/layout/swizzle.hpp"

namespace flashfit {

/// Copies one tile after another of a matrix with `Threads` threads, downwards. A tile takes kPasses copies of each
/// thread, which a kernel may spread among other instructions. Rows and columns outside of the matrix become zeros.
template <class T, class Tile, int Threads>
class TileCopy {
 public:
  static constexpr int kChunks = Tile::kPanel / 8;  // a panel's row, and what as many threads copy in a pass
  static constexpr int kPanels = Tile::kCols / Tile::kPanel;
  static constexpr int kRowsPerPass = Threads / kChunks;
  static constexpr int kPasses = Tile::kRows / kRowsPerPass * kPanels;
  static_assert(Threads % kChunks == 0 && Tile::kRows % kRowsPerPass == 0 && kRowsPerPass % 8 == 0,
                "each pass copies whole rows of the swizzle's pattern, all passes the whole tile");

  /// `g_base`: row 0; `row_stride` in elements; the matrix ends before row `rows` and column `cols`, a multiple of 8
  /// unless all copies are start_elements(). The first tile begins at first_row.
  TileCopy(const T* g_base, int64 row_stride, int rows, int cols, int first_row = 0)
      : g_next_(g_base + (first_row + thread_row()) * row_stride + thread_col()),
        step_(kRowsPerPass * row_stride),
        left_(rows - first_row - thread_row()),
        cols_(cols - thread_col()),
        s_at_(Tile::offset(thread_row(), thread_col())) {
    if (kPanels == 1 && cols_ <= 0) left_ = 0;
  }

  /// Starts part i of `of` of copying the next tile: all in order.
  void part(Tile& s_tile, int i, int of) {
    if (i == 0) s_to_ = arch::in_one_register(s_tile.data, s_at_);
#pragma unroll
    for (int r = kPasses * i / of; r < kPasses * (i + 1) / of; ++r) pass(r);
    if (i + 1 == of) next_tile();
  }
  /// Starts copying the next tile.
  void start(Tile& s_tile) { part(s_tile, 0, 1); }

  /// Copies the next tile an element at a time, for rows that begin anywhere. It is there for others after sync_block.
  void start_elements(Tile& s_tile) {
#pragma unroll 1
    for (int r = 0; r < kPasses; ++r) {
      const int row = r / kPanels * kRowsPerPass, panel = r % kPanels;
      Bytes16 chunk{};
      if (row < left_) {
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          const int col = panel * Tile::kPanel + i;
          if (col < cols_) chunk.words[i / 2] |= uint32{arch::load(g_next_, col).bits} << i % 2 * 16;
        }
      }
      arch::store_shared(s_tile.data, Tile::down(s_at_, row) + panel * (Tile::kRows * Tile::kPanel), chunk);
      if (panel == kPanels - 1) g_next_ += step_;
    }
    next_tile();
  }

 private:
  void pass(int r) {
    const int row = r / kPanels * kRowsPerPass, col = r % kPanels * Tile::kPanel;
    arch::cp_async_16(s_to_.s_base, Tile::down(s_to_.s_offset, row) + r % kPanels * (Tile::kRows * Tile::kPanel),
                      g_next_, col, row < left_ && (kPanels == 1 || col < cols_));
    if (r % kPanels == kPanels - 1) g_next_ += step_;
  }
  void next_tile() { left_ -= Tile::kRows; }

  static int thread_row() { return arch::thread() / kChunks; }
  static int thread_col() { return arch::thread() % kChunks * 8; }

  const T* g_next_;  // where this thread's next 16 bytes lie: one addition a copy, where an offset would be a product
  int64 step_;
  int left_;  // rows from this thread's first one of the tile to the end
  int cols_;  // columns from this thread's first one to the end
  int s_at_;
  arch::SharedPlace<T> s_to_;  // s_at_ in the tile that is being copied
};

}  // namespace flashfit
