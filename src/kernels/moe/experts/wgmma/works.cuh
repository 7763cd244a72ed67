#pragma once
// Which tiles a block that stays computes: first its own, then whichever is next, by a counter that all share. So tiles
// that share weights begin at about the same time, and find them in L2; blocks that took every grid-th tile drifted
// apart, as each had its own share of the longer ones, and read weights of 3.6 MB once for each tile.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/params.hpp"
#include "kernels/moe/experts/wgmma/order.hpp"

namespace flashfit {

/// What a block computes at a time.
struct alignas(16) ExpertsPlace {
  int expert, first_row;
  int rows;    ///< from first_row on; 0: nothing is left
  int column;  ///< tile of outputs

  /// In which rows are copied and multiplied; the last may have more than the expert.
  int steps() const { return (rows + kExpertsStep - 1) / kExpertsStep; }
};

/// By one thread.
template <ExpertsProductConfig C>
class ExpertsWorks {
 public:
  explicit ExpertsWorks(const ExpertsProductParams& p)
      : p_(p), work_(arch::block().x), works_(int64{arch::load(p.tile_count, 0)} * p.columns.by), tile_{} {
    look();
  }

  /// Takes the next tile; some time later look() reads what it is, and later still next() gives it: neither is waited
  /// for at once.
  void take() { work_ = arch::grid().x + int64{arch::atomic_add<arch::MemoryOrder::kRelaxed>(p_.taken, 0, 1)}; }
  void look() {
    if (work_ < works_) tile_ = arch::load(p_.tiles, p_.columns.quotient(int(work_)));
  }

  ExpertsPlace next() const {
    if (work_ >= works_) return {};
    const int tiles = (tile_.rows + C.tile_rows - 1) / C.tile_rows, at = int(work_) - tile_.first_tile * p_.columns.by;
    const auto [tile, column] = experts_tile_at(at, tiles, p_.columns.by);
    // Tiles of an expert are alike but for one step: one of few rows would read as many weights for them.
    const int steps = (tile_.rows + kExpertsStep - 1) / kExpertsStep, each = steps / tiles;
    const int longer = steps - each * tiles;
    const int first = (tile * each + (tile < longer ? tile : longer)) * kExpertsStep;
    const int most = (each + (tile < longer)) * kExpertsStep, left = tile_.rows - first;
    return {.expert = tile_.expert,
            .first_row = tile_.first_row + first,
            .rows = left < most ? left : most,
            .column = column};
  }

 private:
  const ExpertsProductParams& p_;
  int64 work_, works_;
  ExpertTile tile_;
};

}  // namespace flashfit
