#pragma once
// How blocks and their warpgroups share query rows, 64 at a time, and which key tiles these see.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/mask.cuh"

namespace flashfit {

/// A head's rows in blocks of 64, the last ones first, as under a causal mask they take longest. A round is as many of
/// them as there are warpgroups. Sequences are of one length, so all heads are alike.
template <ForwardConfig C>
class HeadRounds {
  static constexpr int kRows = kWarpgroupRows, kGroups = C.warps / 4;

 public:
  explicit HeadRounds(const WgmmaForwardParams& p)
      : visible_(p.forward, p.forward.seqlen_q, p.forward.seqlen_k),
        queries_(p.forward.seqlen_q),
        blocks_((queries_ + kRows - 1) / kRows) {}

  int blocks() const { return blocks_; }
  /// The block of rows at a place of a head, or less than 0: its last round may have fewer than others.
  int rows_at(int place) const { return blocks_ - 1 - place; }
  /// Key tiles, from the first on, of which some row of the block sees a key: 0 of no block.
  int tiles(int rows) const {
    if (rows < 0) return 0;
    const int end = (rows + 1) * kRows;
    return (visible_.count((end < queries_ ? end : queries_) - 1) + C.block_n - 1) / C.block_n;
  }
  /// Those that a round's longest block sees.
  int longest(int round) const { return tiles(rows_at(round * kGroups)); }
  /// Whether all keys and values of a head fit in the ring. A thread block then has whole heads: keys are copied once
  /// and stay until all rows have seen them. Else it has rounds, and each has its keys copied.
  bool stay() const { return longest(0) <= C.stages; }

 private:
  Visibility visible_;
  int queries_, blocks_;
};

/// The rounds of a thread block that has no whole heads, one after another: one in each wave of all blocks. Neighbours
/// have rounds of one head at the same time, so that its keys come from DRAM once. Under a causal mask rounds are
/// assigned in serpentine order (every second wave is reversed), so that no block has the longest of each head. Else
/// only a head's last round differs, as some warpgroups have no rows in it: from wave to wave a block goes through a
/// head's rounds in order.
class AssignedRounds {
 public:
  AssignedRounds() : first_(0), at_(arch::block().x) {}

  void next(const WgmmaForwardParams& p) {
    const int blocks = arch::grid().x, rounds = p.forward.tiles.by;
    first_ += blocks;
    if (p.forward.causal != 0) {
      at_ = blocks - 1 - at_;
    } else {
      // blocks + this is one more than a multiple of the rounds
      at_ += p.forward.tiles.quotient(blocks - 1) * rounds + rounds + 1 - blocks;
      while (at_ >= blocks) at_ -= blocks;
    }
  }
  int head(const WgmmaForwardParams& p) const { return p.forward.tiles.quotient(first_ + at_); }
  int round(const WgmmaForwardParams& p) const { return first_ + at_ - head(p) * p.forward.tiles.by; }

 private:
  int first_, at_;  // the wave's first round, counting those of all heads; the block's place in the wave
};

/// A warpgroup's blocks of rows, one after another. The order of warpgroups is reversed from one round to the next, so
/// that none has the longest rows of each.
template <ForwardConfig C>
class WarpgroupRows {
  static constexpr int kGroups = C.warps / 4;

 public:
  WarpgroupRows(const WgmmaForwardParams& p, int group, bool whole_heads)
      : group_(group), index_(0), before_(0), place_(0) {
    whole_heads ? move_on(p, group) : take(p);
  }
  void next(const WgmmaForwardParams& p, bool whole_heads) {
    const int places = ahead();
    ++index_;
    if (whole_heads) return move_on(p, places);
    rounds_.next(p);
    take(p);
  }
  /// By how many places the next block of rows is further on. Past the head's last place, it is the next head's.
  int ahead() const { return index_ % 2 == 0 ? 2 * (kGroups - group_) - 1 : 2 * group_ + 1; }
  int index() const { return index_; }
  /// Where the thread block has whole heads, how many come before this one.
  int heads_before() const { return before_; }
  int head() const { return head_; }
  /// Of the rows, in the head.
  int place() const { return place_; }

 private:
  void move_on(const WgmmaForwardParams& p, int places) {
    const int blocks = HeadRounds<C>(p).blocks();
    for (place_ += places; place_ >= blocks; place_ -= blocks) ++before_;
    head_ = arch::block().x + before_ * arch::grid().x;
  }
  void take(const WgmmaForwardParams& p) {
    head_ = rounds_.head(p);
    place_ = rounds_.round(p) * kGroups + (index_ % 2 == 0 ? group_ : kGroups - 1 - group_);
  }

  int group_, index_, before_, head_, place_;
  AssignedRounds rounds_;
};

}  // namespace flashfit
