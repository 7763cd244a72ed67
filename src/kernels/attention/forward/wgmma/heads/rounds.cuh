#pragma once
// How the warpgroups of a block share a head's query rows, 64 at a time, and which key tiles these see.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/mask.cuh"

namespace flashfit {

/// A head's rows in blocks of 64, the last ones first, as under a causal mask they take longest. In a round each
/// warpgroup has one of them. Sequences are of one length, so all heads are alike.
template <ForwardConfig C>
class HeadRounds {
  static constexpr int kRows = kWarpgroupRows, kGroups = C.warps / 4;

 public:
  explicit HeadRounds(const WgmmaForwardParams& p)
      : visible_(p.forward, p.forward.seqlen_q, p.forward.seqlen_k),
        queries_(p.forward.seqlen_q),
        blocks_((queries_ + kRows - 1) / kRows) {}

  int count() const { return (blocks_ + kGroups - 1) / kGroups; }
  /// The block of rows that a warpgroup has in a round, or less than 0. The order turns from one of the thread block's
  /// rounds to the next, so that no warpgroup has the longest of each.
  int rows_of(int group, int round, int turn) const {
    return blocks_ - 1 - round * kGroups - (turn % 2 == 0 ? group : kGroups - 1 - group);
  }
  /// Key tiles, from the first on, of which some row of the block sees a key: 0 of no block.
  int tiles(int rows) const {
    if (rows < 0) return 0;
    const int end = (rows + 1) * kRows;
    return (visible_.count((end < queries_ ? end : queries_) - 1) + C.block_n - 1) / C.block_n;
  }
  /// Those that a round's longest block sees.
  int longest(int round) const { return tiles(blocks_ - 1 - round * kGroups); }
  /// Whether all of a head's keys and values have slots: they are copied once, and stay until the last round has seen
  /// them. Else each round has them copied again.
  bool stay() const { return longest(0) <= C.stages; }

  const Visibility& visible() const { return visible_; }
  int queries() const { return queries_; }

 private:
  Visibility visible_;
  int queries_, blocks_;
};

}  // namespace flashfit
