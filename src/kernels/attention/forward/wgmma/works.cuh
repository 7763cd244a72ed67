#pragma once
// Which tiles of query rows a block computes, one after another, and over which keys.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"

namespace flashfit {

/// The block's `turn`-th tile, by find_work()'s number; p.works if it has none that late, none_now if not in this turn.
inline int tile_number(const WgmmaForwardParams& p, int turn, int none_now) {
  const int blocks = arch::grid().x, block = arch::block().x, tiles = p.forward.tiles.by;
  if (p.order == WorkOrder::kPairs) {
    const int pair = turn / 2 * blocks + block, head = p.pairs.quotient(pair);
    const int at = pair - head * p.pairs.by, tile = turn % 2 == 0 ? at : tiles - 1 - at;
    if (head >= p.all_heads.by) return p.works;
    return turn % 2 != 0 && tile == at ? none_now : head * tiles + tile;
  }
  const int first = turn * blocks;
  if (first >= p.works) return p.works;
  // Every second round is dealt backwards, so that no block has the longer tile of every round.
  const int i = first + (turn % 2 == 0 ? block : blocks - 1 - block);
  if (i >= p.works) return none_now;
  if (p.order == WorkOrder::kAsNumbered) return i;
  const int tile = p.all_heads.quotient(i);
  return (i - tile * p.all_heads.by) * tiles + tile;
}

/// What the producer tells the consumers of a tile of query rows.
struct Job {
  Work work;        ///< without rows: there was none left
  TileRange tiles;  ///< the key tiles that some row of the block sees
};

/// A job in shared memory.
struct JobSlot {
  struct Words {
    int at[sizeof(Job) / sizeof(int)];
  } words;

  void put(const Job& job) {
    const Words from = __builtin_bit_cast(Words, job);
#pragma unroll
    for (int i = 0; i < int(sizeof(Job) / sizeof(int)); ++i) arch::store_shared(words.at, i, from.at[i]);
  }
  Job get() const {
    Words to;
#pragma unroll
    for (int i = 0; i < int(sizeof(Job) / sizeof(int)); ++i) to.at[i] = arch::load_shared(words.at, i);
    return __builtin_bit_cast(Job, to);
  }
};

/// The key tiles that some row of the block sees.
template <ForwardConfig C>
TileRange key_tiles(const ForwardParams& p, const Work& work) {
  const Visibility visible(p, work.queries, work.keys);
  const int end_row = work.first_row + C.block_m < work.queries ? work.first_row + C.block_m : work.queries;
  const TileRange tiles = tiles_of(work, p, visible.first(work.first_row), visible.last(end_row - 1), C.block_n);
  return {tiles.begin, tiles.begin < tiles.end ? tiles.end : tiles.begin};
}

/// The block's jobs, one after another. All lanes of a warp ask together.
template <ForwardConfig C>
class Jobs {
 public:
  explicit Jobs(const WgmmaForwardParams& p) : p_(p), turn_(0) {}

  Job next() {
    constexpr int kNoneNow = -1;
    for (int number; (number = tile_number(p_, turn_++, kNoneNow)) != p_.works;) {
      if (number == kNoneNow) continue;
      const Work work = find_work<C.block_m>(p_.forward, number);
      if (work.queries != 0) return {work, key_tiles<C>(p_.forward, work)};
    }
    return {};
  }

 private:
  const WgmmaForwardParams& p_;
  int turn_;
};

}  // namespace flashfit
