#pragma once
// The scheduler of the persistent blocks: which tiles a block computes. The first one is its block index, the others
// come from an atomic counter, for the reason in wgmma/works.cuh. The tiles of an expert go along m within a stripe, so
// that those which run together read few columns of a and b.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/weights/config.hpp"
#include "kernels/moe/experts/weights/params.hpp"

namespace flashfit {

/// What a block computes at a time, as the consumers need it.
struct alignas(16) WeightsTile {
  int expert;  ///< below 0: nothing is left
  int rows;    ///< of the expert, 0 or more
  int i, j;    ///< the tile's first row and column of the gradient
};

/// By one warp.
template <WeightsProductConfig C>
class WeightsWorks {
 public:
  explicit WeightsWorks(const WeightsProductParams& p)
      : p_(p), works_(p.experts * p.tiles.by), work_(arch::block().x), taken_(0), expert_(0), begin_(0), end_(0) {
    read();
  }

  /// take() takes a number from the counter, look() loads where that tile's expert has its rows, next() returns the
  /// tile. They are called some time after each other, so that neither latency is exposed.
  void take() {
    if (arch::lane() == 0) taken_ = arch::atomic_add<arch::MemoryOrder::kRelaxed>(p_.taken, 0, 1);
  }
  void look() {
    work_ = int64{arch::grid().x} + arch::shuffle(taken_, 0);
    read();
  }

  WeightsTile next() const {
    if (work_ >= works_) return {.expert = -1, .rows = 0, .i = 0, .j = 0};
    const int first = first_row(), end = within(end_), tile = int(work_) - expert_ * p_.tiles.by;
    const int stripe = p_.of_stripe.quotient(tile), at = tile - stripe * p_.of_stripe.by;
    const int above = stripe * kWeightsStripe, below = p_.tiles_m - above;
    const int height = below < kWeightsStripe ? below : kWeightsStripe, column = at / height;
    return {.expert = expert_,
            .rows = end > first ? end - first : 0,
            .i = (above + at - column * height) * C.tile_m,
            .j = column * C.tile_n};
  }
  /// Of the tile that next() says.
  int first_row() const { return within(begin_); }

 private:
  void read() {
    if (work_ >= works_) return;
    expert_ = p_.tiles.quotient(int(work_));
    begin_ = arch::load(p_.offsets, expert_);
    end_ = arch::load(p_.offsets, expert_ + 1);
  }
  int within(int offset) const { return offset < 0 ? 0 : offset > p_.rows ? p_.rows : offset; }

  const WeightsProductParams& p_;
  const int64 works_;
  int64 work_;
  int taken_, expert_, begin_, end_;
};

}  // namespace flashfit
