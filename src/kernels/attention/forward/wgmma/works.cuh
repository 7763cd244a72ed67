#pragma once
// Which tiles of query rows a block computes, one after another, and over which keys.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/schedule.cuh"

namespace flashfit {

/// Of sequences of different lengths: the number, as find_work() counts, of the tile with this number where a
/// sequence's heads come one after another.
template <int BlockM>
int head_by_head(const ForwardParams& p, int number) {
  const auto slots_before = [&](int sequence) {
    return first_slot<BlockM>(bounded_offset(p.cu_seqlens_q, sequence, p.seqlen_q), sequence);
  };
  const int sequence = find_sequence<BlockM>(p, p.heads.quotient(number)), before = slots_before(sequence);
  const int slots = slots_before(sequence + 1) - before, within = number - before * p.heads.by;
  if (within < 0 || within >= slots * p.heads.by) return number;  // behind the last sequence, or offsets fall
  const int head = within / slots;
  return (before + within - head * slots) * p.heads.by + head;
}

constexpr int kNoneNow = -1, kNoneLeft = -2;

/// The number of the block's tile in a wave, when `count` tiles are assigned in waves of one tile a block, in
/// serpentine order: every second wave is reversed, so that no block has the longer tile of every wave. kNoneNow if
/// this wave, the last one, has no tile for the block; kNoneLeft if there is no such wave.
inline int serpentine(int wave, int count) {
  const int blocks = arch::grid().x, block = arch::block().x, first = wave * blocks;
  if (first >= count) return kNoneLeft;
  const int i = first + (wave % 2 == 0 ? block : blocks - 1 - block);
  return i < count ? i : kNoneNow;
}

/// The number of the block's tile when blocks take tiles from an atomic counter: kNoneLeft if no tile is left. All
/// lanes of a warp call it together.
inline int taken(const WgmmaForwardParams& p, int index) {
  int i = arch::block().x;
  if (index != 0) {
    if (arch::lane() == 0) i = arch::grid().x + arch::atomic_add<arch::MemoryOrder::kRelaxed>(p.taken, 0, 1);
    i = arch::shuffle(i, 0);
  }
  return i < p.works ? i : kNoneLeft;
}

/// The tiles under a causal mask in pairs of equal cost: the longest of a head with its shortest, and so on; of an odd
/// number of tiles the longest is alone.
class TilePairs {
 public:
  /// A shuffle, so that the compiler does not keep all this in registers from tile to tile: the scheduler has few.
  explicit TilePairs(const WgmmaForwardParams& p)
      : tiles_(p.forward.tiles.by), of_head_((tiles_ + 1) / 2), blocks_(arch::shuffle(arch::grid().x, 0)) {
    const int pairs = p.all_heads * of_head_, waves = pairs / blocks_;
    waves_ = waves == 0 || waves * blocks_ == pairs ? waves : waves - 1;
    rest_ = pairs - waves_ * blocks_;
    first_ = waves_ * blocks_ / of_head_;
    begun_ = waves_ * blocks_ - first_ * of_head_;
    heads_ = p.all_heads - first_ - 1;
  }

  /// The number of the block's tile `index`: for some waves a pair's longer tile and right after it its shorter one,
  /// and then the tiles of all other pairs, the longest first, in serpentine order.
  int nth(int index) const {
    if (index >= 2 * waves_) return of_rest(serpentine(index - 2 * waves_, 2 * rest_));
    const int pair = index / 2 * blocks_ + arch::block().x, head = pair / of_head_;
    return number(head, pair - head * of_head_, index % 2 != 0);
  }

 private:
  int of_rest(int i) const {
    if (i < 0) return i;
    const bool is_short = i >= rest_;
    const int k = is_short ? 2 * rest_ - 1 - i : i;
    // The first head has but its shorter pairs left.
    const int before = begun_ * heads_;
    if (k < before) return number(first_ + 1 + k % heads_, k / heads_, is_short);
    return number(first_ + (k - before) % (heads_ + 1), begun_ + (k - before) / (heads_ + 1), is_short);
  }
  int number(int head, int at, bool is_short) const {
    const int tile = is_short ? tiles_ - 1 - at + tiles_ % 2 : at;
    return tile < tiles_ ? head * tiles_ + tile : kNoneNow;
  }

  int tiles_, of_head_, blocks_;
  int waves_, rest_;           // pairs of each block, and pairs that are left then
  int first_, begun_, heads_;  // head that the rest begins in, its pairs in whole waves, heads after it
};

/// The block's tile number `index`, from 0 on, by find_work()'s number, kNoneNow or kNoneLeft. All lanes of a warp call
/// it together.
template <int BlockM>
int tile_number(const WgmmaForwardParams& p, int index) {
  if (p.order == WorkOrder::kPairsThenLongest) return TilePairs(p).nth(index);
  const int i = p.taken != nullptr ? taken(p, index) : serpentine(index, p.works);
  if (i < 0 || p.order == WorkOrder::kAsNumbered) return i;
  if (p.order == WorkOrder::kByHead) return head_by_head<BlockM>(p.forward, i);
  // The longest first. Two tiles of a head side by side: more blocks share keys than if all other heads came in
  // between.
  const int tiles = p.forward.tiles.by, span = 2 * p.all_heads, first = i / span * 2, within = i - first / 2 * span;
  const int width = tiles - first < 2 ? 1 : 2, head = within / width;
  return head * tiles + first + within - head * width;
}

/// A tile of query rows and its range of key tiles. The scheduler writes it, the producer passes it on to the
/// consumers.
struct Job {
  Work work;        ///< without queries: no job is left
  TileRange tiles;  ///< the key tiles that some row of the block sees
};

/// A job in shared memory.
struct SharedJob {
  struct Words {
    int at[sizeof(Job) / sizeof(int)];
  } words;

  void put(const Job& job) {
    const Words from = __builtin_bit_cast(Words, job);
#pragma unroll
    for (int i = 0; i < int(sizeof(Job) / sizeof(int)); ++i) arch::store_shared(words.at, i, from.at[i]);
  }
  /// Copies another one, a word at a time.
  void put(const SharedJob& from) {
#pragma unroll
    for (int i = 0; i < int(sizeof(Job) / sizeof(int)); ++i)
      arch::store_shared(words.at, i, arch::load_shared(from.words.at, i));
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
  const RowVisibility<C.packs> visible(p, work.queries, work.keys);
  const int rows = TileRows<C.packs>::count(p, work.queries);
  const int end_row = work.first_row + C.block_m < rows ? work.first_row + C.block_m : rows;
  const TileRange tiles = tiles_of(p, visible.first(work.first_row), visible.last(end_row - 1), C.block_n);
  return {tiles.begin, tiles.begin < tiles.end ? tiles.end : tiles.begin};
}

/// The block's jobs, one after another. All lanes of a warp call it together.
template <ForwardConfig C>
class Jobs {
 public:
  explicit Jobs(const WgmmaForwardParams& p) : p_(p), index_(0) {}

  Job next() {
    for (int number; (number = tile_number<C.block_m>(p_, index_++)) != kNoneLeft;) {
      if (number == kNoneNow) continue;
      const Work work = find_work<C.block_m, C.packs>(p_.forward, number);
      if (work.queries != 0) return {work, key_tiles<C>(p_.forward, work)};
    }
    return {};
  }

 private:
  const WgmmaForwardParams& p_;
  int index_;
};

}  // namespace flashfit
