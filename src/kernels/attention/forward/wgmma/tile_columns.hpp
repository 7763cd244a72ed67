#pragma once
// How wide tiles over wgmma are in shared memory. Neutral: kernels and hosts share it.
#include "kernels/attention/forward/config.hpp"

namespace flashfit {

/// Columns of a tile of Q, K or V of which products take `columns`. TMA takes about as long for a row of 32 columns of
/// a panel as for one of 64, so tiles of 160 and 224 columns have whole panels of 64, the last one half empty.
constexpr int tile_columns(int columns) { return columns > 96 ? (columns + 63) / 64 * 64 : columns; }

/// Whether tiles are wider than products.
constexpr bool has_wide_tiles(const ForwardConfig& c) { return tile_columns(c.head_dim_v) != c.head_dim_v; }

/// A configuration with its tiles' columns.
constexpr ForwardConfig with_tile_columns(ForwardConfig c) {
  c.head_dim = tile_columns(c.head_dim);
  c.head_dim_v = tile_columns(c.head_dim_v);
  return c;
}

}  // namespace flashfit
