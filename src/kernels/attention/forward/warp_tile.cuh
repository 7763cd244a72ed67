#pragma once
// Which rows and columns of a block's tile are a warp's.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"

namespace flashfit {

template <ForwardConfig C>
struct WarpTile {
  static constexpr int kRows = C.block_m * C.column_warps / C.warps;
  static constexpr int kColumns = C.head_dim_v / C.column_warps;  ///< of the output

  // All 32 lanes of a warp call these together.
  static int first_row() { return arch::warp() / C.column_warps * kRows; }
  static int first_column() { return C.column_warps == 1 ? 0 : arch::warp() % C.column_warps * kColumns; }
};

}  // namespace flashfit
