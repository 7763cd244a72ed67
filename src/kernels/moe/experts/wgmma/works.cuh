#pragma once
// Which tiles a block that stays computes, one after another: every grid-th. Neighbours share an expert's weights.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

/// What a block computes at a time.
struct ExpertsPlace {
  int expert, first_row;
  int rows;    ///< from first_row on
  int column;  ///< tile of outputs
};

template <ExpertsProductConfig C>
class ExpertsWorks {
 public:
  explicit ExpertsWorks(const ExpertsProductParams& p)
      : p_(p), work_(arch::block().x), works_(int64{arch::load(p.tile_count, 0)} * p.columns.by) {
    read();
  }

  /// The next tile, if there is one: the same in all lanes, for the compiler too. What follows it is read at once, long
  /// before it is asked for.
  bool next(ExpertsPlace& place) {
    if (work_ >= works_) return false;
    const int rows = arch::shuffle(tile_.rows, 0), first_tile = arch::shuffle(tile_.first_tile, 0);
    const int row_tiles = (rows + C.tile_rows - 1) / C.tile_rows, at = int(work_) - first_tile * p_.columns.by;
    place.column = at / row_tiles;
    // Tiles of an expert are alike but for 16 rows: one of few rows would read as many weights for them.
    const int tile = at - place.column * row_tiles, steps = (rows + 15) / 16, each = steps / row_tiles;
    const int longer = steps - each * row_tiles;
    const int first = (tile * each + (tile < longer ? tile : longer)) * 16, most = (each + (tile < longer)) * 16;
    place.expert = arch::shuffle(tile_.expert, 0);
    place.first_row = arch::shuffle(tile_.first_row, 0) + first;
    place.rows = rows - first < most ? rows - first : most;
    work_ += arch::grid().x;
    read();
    return true;
  }

 private:
  void read() {
    if (work_ < works_) tile_ = arch::load(p_.tiles, p_.columns.quotient(int(work_)));
  }

  const ExpertsProductParams& p_;
  int64 work_, works_;
  ExpertTile tile_;
};

}  // namespace flashfit
