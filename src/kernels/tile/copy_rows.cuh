#pragma once
// Global memory -> shared tile, asynchronously, of rows that lie anywhere.
#include "kernels/arch/arch.hpp"
#include "kernels/tile/copy.cuh"

namespace flashfit {

/// Starts copying a tile with `Threads` threads, 16 bytes a thread and copy, all aligned. Row r lies at g_base + at(r),
/// in elements. Rows from `rows` on and columns from `cols` on, a multiple of 8, become zeros; at() is asked for them,
/// too.
template <int Threads, class T, class Tile, class At>
void copy_rows(Tile& s_tile, const T* g_base, int rows, int cols, At at) {
  using Copy = TileCopy<T, Tile, Threads>;
  const int row = arch::thread() / Copy::kChunks, col = arch::thread() % Copy::kChunks * 8;
  const int s_at = Tile::offset(row, col);
#pragma unroll
  for (int i = 0; i < Tile::kRows; i += Copy::kRowsPerPass) {
    const T* g_row = g_base + at(row + i);
#pragma unroll
    for (int panel = 0; panel < Copy::kPanels; ++panel)
      arch::cp_async_16(s_tile.data, Tile::down(s_at, i) + panel * (Tile::kRows * Tile::kPanel), g_row,
                        col + panel * Tile::kPanel, row + i < rows && col + panel * Tile::kPanel < cols);
  }
}

}  // namespace flashfit
