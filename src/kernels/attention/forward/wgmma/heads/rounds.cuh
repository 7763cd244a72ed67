#pragma once
// How the warpgroups of a block share a head's query rows, 64 at a time, and which key tiles these see.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"

namespace flashfit {

/// A head's rows in blocks of 64, the last ones first, as under a causal mask they take longest. In a round each
/// warpgroup has one of them. Sequences are of one length, so all heads are alike. Rounds go down and up the keys in
/// turns: what the end of one has in its slots, key tile j in slot j % stages, the next one begins with.
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
  static bool ascends(int round) { return round % 2 != 0; }
  /// The key tiles that are copied for a round, in its order. The others of it are still in their slots.
  TileRange fresh(int round) const {
    const int now = longest(round);
    if (round == 0) return {0, now};
    if (ascends(round)) return {now < C.stages ? now : C.stages, now};
    return {0, clamp(longest(round - 1) - C.stages, 0, now)};
  }
  /// Those of the others that a block of that round sees: behind a head's last round, none.
  TileRange kept(int round, int rows) const {
    const TileRange copied = fresh(round);
    const int seen = tiles(rows);
    if (ascends(round)) return {0, seen < copied.begin ? seen : copied.begin};
    return {copied.end, seen};
  }

  const Visibility& visible() const { return visible_; }
  int queries() const { return queries_; }

 private:
  Visibility visible_;
  int queries_, blocks_;
};

inline bool has(const TileRange& tiles, int tile) { return tile >= tiles.begin && tile < tiles.end; }

/// Whether a tile is its slot's even or odd fill, as who fills slots or waits for them counts. Within a head a slot
/// goes from tile j to j - Slots or j + Slots, a fill each time. So tiles j and j + 2 Slots are alike, and stay so.
template <int Slots>
class Fills {
 public:
  /// Of a thread block whose heads begin with the last of so many tiles: the first fills are even.
  explicit Fills(int tiles) : odd_(~rotated(kSlots, tiles + Slots, 2 * Slots)), changed_(0) {}

  int of(int tile) const { return int(odd_ >> tile % (2 * Slots) & 1); }
  /// Of a round, its fresh tiles.
  void add(const TileRange& fresh) {
    const int count = fresh.end - fresh.begin;
    changed_ ^= rotated((1u << count % Slots) - 1, fresh.begin, Slots) ^ (count / Slots % 2 != 0 ? kSlots : 0);
  }
  /// From one head to the next.
  void next_head() {
    odd_ ^= changed_ | changed_ << Slots;
    changed_ = 0;
  }

 private:
  static constexpr uint32 kSlots = (1u << Slots) - 1;
  /// `bits`, of `width`, `by` places to the left.
  static uint32 rotated(uint32 bits, int by, int width) {
    const uint32 moved = bits << by % width;
    return (moved | moved >> width) & ((1u << width) - 1);
  }

  uint32 odd_;      // bit j % (2 Slots): of tile j of this head
  uint32 changed_;  // slots that were filled an odd number of times in this head
};

}  // namespace flashfit
