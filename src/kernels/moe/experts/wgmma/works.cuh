#pragma once
// The scheduler of the persistent blocks: which tiles a block computes. The first one is its block index, the others
// come from an atomic counter. So tiles that share weights begin at about the same time, and find them in L2. Blocks
// with a static schedule, every grid-th tile, drifted apart, as some had more of the longer tiles, and read weights of
// 3.6 MB from DRAM once for each tile.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/order.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"

namespace flashfit {

/// What a block computes at a time.
struct alignas(16) ExpertsPlace {
  int expert, first_row;
  int rows;    ///< from first_row on; 0: nothing is left
  int column;  ///< tile of outputs

  /// Steps of kExpertsStep rows, in which rows are copied and multiplied; the last one may go past the expert's rows.
  int steps() const { return (rows + kExpertsStep - 1) / kExpertsStep; }
};

/// By one thread.
template <ExpertsProductConfig C>
class ExpertsWorks {
 public:
  explicit ExpertsWorks(const WgmmaExpertsParams& p)
      : p_(p), tiles_(arch::load(p.product.tile_count, 0)), phase_(0), work_(arch::block().x), begin_(0), tile_{} {
    look();
  }

  /// take() takes a number from the counter, look() loads that tile's entry of the list, next() returns the tile. They
  /// are called some time after each other, so that neither latency is exposed.
  void take() { work_ = arch::grid().x + int64{arch::atomic_add<arch::MemoryOrder::kRelaxed>(p_.product.taken, 0, 1)}; }
  void look() {
    while (phase_ < p_.phases.count && work_ - begin_ >= in_phase()) begin_ += in_phase(), ++phase_;
    if (phase_ < p_.phases.count) tile_ = arch::load(p_.product.tiles, columns().quotient(int(work_ - begin_)));
  }

  /// Of the tile that next() gives.
  int phase() const { return phase_; }
  ExpertsPlace next() const {
    if (phase_ == p_.phases.count) return {};
    const int tiles = (tile_.rows + C.tile_rows - 1) / C.tile_rows;
    const int at = int(work_ - begin_) - tile_.first_tile * columns().by;
    const auto [tile, column] = experts_tile_at(at, tiles, columns().by, experts_band(C.tile_rows));
    // An expert's tiles differ by at most one step of rows: a tile of few rows would read as many weights as any other.
    const int steps = (tile_.rows + kExpertsStep - 1) / kExpertsStep, each = steps / tiles;
    const int longer = steps - each * tiles;
    const int first = (tile * each + (tile < longer ? tile : longer)) * kExpertsStep;
    const int most = (each + (tile < longer)) * kExpertsStep, left = tile_.rows - first;
    return {.expert = tile_.expert,
            .first_row = tile_.first_row + first,
            .rows = left < most ? left : most,
            .column = phase_ * p_.phases.columns.by + column};
  }

 private:
  const Divisor& columns() const { return p_.phases.columns_of(phase_); }
  int64 in_phase() const { return int64{tiles_} * columns().by; }

  const WgmmaExpertsParams& p_;
  int tiles_, phase_;
  int64 work_, begin_;  ///< the phase's first
  ExpertTile tile_;
};

}  // namespace flashfit
