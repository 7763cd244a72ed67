#pragma once
// In which order an expert's tiles are taken. Neutral.
#include "core/base/types.hpp"

namespace flashfit {

/// At most so many tiles of rows are multiplied by all of the expert's outputs before the next ones are: 16 of 128 or
/// 144 rows by 8 of 256 outputs are what 132 SMs compute at a time, and have the fewest operands; more of fewer rows,
/// as each band reads the expert's weights again. All tiles of rows at once would be more than L2 holds where many
/// tokens choose an expert.
constexpr int experts_band(int tile_rows) { return tile_rows < 128 ? 2048 / tile_rows : 16; }

/// Which tile of rows and which of outputs.
struct ExpertsTileAt {
  int tile, column;
};

/// The n-th of an expert's tiles, `tiles` of rows by `columns` of outputs: bands of as many tiles of rows each but for
/// the last, at most `band`; in each the tiles of rows of one column, then of the next.
constexpr ExpertsTileAt experts_tile_at(int n, int tiles, int columns, int band) {
  const int bands = (tiles + band - 1) / band, each = (tiles + bands - 1) / bands;
  const int first = n / (each * columns) * each, here = first + each < tiles ? each : tiles - first;
  const int in_band = n - first * columns, column = in_band / here;
  return {.tile = first + in_band - column * here, .column = column};
}

}  // namespace flashfit
