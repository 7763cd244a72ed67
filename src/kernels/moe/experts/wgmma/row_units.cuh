#pragma once
// The rows of x that blocks copy into the order of experts, unit by unit: which unit is next, and which rows are
// copied. Blocks take units from an atomic counter, in the order of rows. For each band of kReadyRows rows a global
// counter says how many are copied; the sort initialises it with the rows of the band that no expert has.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"

namespace flashfit {

struct ExpertsRowUnit {
  int first, rows;  ///< 0 rows: none is left
};

class ExpertsRowUnits {
 public:
  explicit ExpertsRowUnits(const WgmmaExpertsParams& p) : copies_(p.copies), end_(0) {
    const int tiles = arch::load(p.product.tile_count, 0);
    if (tiles == 0) return;
    const ExpertTile last = arch::load(p.product.tiles, tiles - 1);
    end_ = last.first_row + last.rows;
  }

  /// By one thread: the first row of the next unit that no block has.
  int take() const { return arch::atomic_add<arch::MemoryOrder::kRelaxed>(copies_.taken, 0, copies_.unit_rows); }
  ExpertsRowUnit from(int first) const {
    const int left = first < end_ ? end_ - first : 0;
    return {first, left < copies_.unit_rows ? left : copies_.unit_rows};
  }

 private:
  const ExpertsRowCopies& copies_;
  int end_;
};

/// Counts a unit's rows as copied, with release order. By one thread, after its own bulk copies or a barrier of the
/// threads that stored the rows.
inline void tell_of_rows(const ExpertsRowCopies& copies, const ExpertsRowUnit& unit) {
  arch::reduce_add<arch::MemoryOrder::kRelease>(copies.ready, unit.first / kReadyRows, unit.rows);
}

/// Waits until TMA may copy `count` rows from `first` on, at least one.
inline void wait_for_rows(const ExpertsRowCopies& copies, int first, int count) {
  const int end = first + count;
  for (int band = first / kReadyRows; band * kReadyRows < end; ++band)
    while (arch::load_acquire(copies.ready, band) < kReadyRows) continue;
  arch::fence_proxy_async_global();  // what threads stored, of other blocks too
}

}  // namespace flashfit
