#pragma once
// What the thread that takes tiles tells of the second product's phases: how many of its block's tiles of a phase are
// in y, for all blocks, and that the block has no more of them, for its own idle warps (token_sums.cuh).
// The consumers tell nothing of their own: when they release the first slice of a tile, they have stored the tile
// before it, and this thread waits for each slot that it fills again. So it learns of a phase's last tile some slices
// later, and only one release a phase and block is paid for.
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
  /// The slot of the n-th slice was waited for: the one so many slices before has been released.
  void slot_taken(int n) {
    if (n >= due_) tell();
  }
  /// The n-th slice was the last, and says that nothing is left: consumers release it when all is stored.
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
  int phase_, tiles_;          // of the tile that was begun last; of its phase, so many were begun
  int told_;                   // phases that the block's own warps know of
  int before_, tiles_before_;  // the phase that ended, until it is told
  int due_;                    // the slice for whose slot one waits to know that its tiles are stored
};

}  // namespace flashfit
