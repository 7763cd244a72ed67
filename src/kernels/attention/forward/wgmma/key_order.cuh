#pragma once
// In which order a block visits its key tiles. Positions count as key tiles do, from job.tiles.begin to before
// job.tiles.end, in the order of the visits.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/works.cuh"
#include "kernels/attention/mask.cuh"

namespace flashfit {

/// From the first key on.
template <ForwardConfig C, bool Down = C.kind == ForwardKind::kAlibi>
class KeyOrder {
 public:
  static constexpr bool kDown = false;
  KeyOrder(const ForwardParams&, const Job&) {}
  int tile(int position) const { return position; }
  /// Tiles from the one there to the next one.
  int to_next(int) const { return 1; }
};

/// From the tile with the last row's diagonal down to the first key, and then what is left, from the last key down.
/// With ALiBi the scores of a row are largest at its diagonal, so a base that is taken there need not move
/// (docs/hopper-kernel.md, "ALiBi").
template <ForwardConfig C>
class KeyOrder<C, true> {
 public:
  static constexpr bool kDown = true;
  KeyOrder(const ForwardParams& p, const Job& job) : begin_(job.tiles.begin), count_(job.tiles.end - begin_) {
    const Work& work = job.work;
    const int end_row = work.first_row + C.block_m < work.queries ? work.first_row + C.block_m : work.queries;
    const int diagonal = end_row - 1 + work.keys - work.queries;
    // Under a mask that hides the keys behind the diagonal the last tile is that of the diagonal, or near it.
    const bool sees_all_behind = p.causal == 0 && p.window_right < 0;
    top_ = sees_all_behind ? clamp(diagonal / C.block_n, begin_, job.tiles.end - 1) : job.tiles.end - 1;
  }
  int tile(int position) const {
    const int down = top_ - (position - begin_);
    return down < begin_ ? down + count_ : down;
  }
  int to_next(int position) const { return tile(position + 1) - tile(position); }
  /// Whether the tile there is that of the last key.
  bool is_last(int position) const { return tile(position) == begin_ + count_ - 1; }

 private:
  int begin_, count_, top_;
};

}  // namespace flashfit
