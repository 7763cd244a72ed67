#pragma once
// How the producer thread signals the end of a phase of the second product. For all blocks it adds the number of its
// block's tiles of the phase to a global counter, once they are stored in y; for its own block's idle warps
// (token_sums.cuh) it arrives on an mbarrier.
// The consumers need no signal of their own: when they release the first slice of a tile, they have stored the tile
// before it, and the producer waits for each stage before it fills it again. So it learns some slices later that a
// phase's last tile is stored, and a block pays for one release to global memory in each phase.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/wgmma/params.hpp"
#include "kernels/moe/experts/wgmma/shared.cuh"

namespace flashfit {

template <ExpertsProductConfig C>
class ExpertsPhaseNews {
  using Shared = WgmmaExpertsShared<C>;

 public:
  ExpertsPhaseNews(const WgmmaExpertsParams& p, Shared& s)
      : p_(p), s_(s), phase_(0), tiles_(0), told_(0), before_(0), tiles_before_(0), due_(kNothing) {}

  /// A tile whose first slice is the n-th of all.
  void begin_tile(int phase, int n) {
    if (p_.phases.count == 1) return;
    if (phase != phase_) {
      if (due_ != kNothing) wait_and_tell();
      before_ = phase_, tiles_before_ = tiles_, due_ = n + C.stages;
      phase_ = phase, tiles_ = 0;
    }
    ++tiles_;
  }
  /// The n-th slice's stage has become empty: the slice C.stages before it is released.
  void stage_emptied(int n) {
    if (n >= due_) tell();
  }
  /// In place of an n-th slice, its stage tells that no tile is left: consumers release it when all tiles are stored.
  void end(int n) {
    if (p_.phases.count == 1) return;
    if (due_ != kNothing) wait_and_tell();
    before_ = phase_, tiles_before_ = tiles_, due_ = n + C.stages;
    phase_ = p_.phases.count;
    wait_and_tell();
  }

 private:
  static constexpr int kNothing = 0x7fffffff;

  void wait_and_tell() {
    arch::mbarrier_wait(s_.empty[due_ % C.stages], due_ / C.stages % 2 ^ 1);
    tell();
  }
  void tell() {
    if (tiles_before_ > 0) arch::reduce_add<arch::MemoryOrder::kRelease>(p_.sums.units.stored, before_, tiles_before_);
    for (; told_ < phase_; ++told_) arch::mbarrier_arrive(s_.told[told_]);
    due_ = kNothing;
  }

  const WgmmaExpertsParams& p_;
  Shared& s_;
  int phase_, tiles_;          // the current tile's phase, and the tiles begun in it
  int told_;                   // phases that were signalled to the block's own warps
  int before_, tiles_before_;  // the phase that ended, and its tiles, until they are signalled
  int due_;                    // once the stage of this slice is empty, those tiles are stored
};

}  // namespace flashfit
