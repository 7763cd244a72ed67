// Persistent blocks share the tiles of rows: each tile is one block's, once, in every order.
#include "kernels/attention/forward/wgmma/works.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/attention/forward/variants_table.hpp"
#include "kernels/attention/forward/wgmma/heads/rounds.cuh"
#include "proof/emu/launch.hpp"
#include "proof/emu/memory.hpp"

namespace flashfit {
namespace {

/// Writes which block computes a tile, as its how-manieth, and counts how often a tile is computed.
struct TakeTiles {
  static constexpr int kThreads = 32, kMinBlocks = 1;
  struct Params {
    WgmmaForwardParams works;
    int *block_of, *index_of, *times;
  };
  struct Shared {};
  static void run(const Params& p) {
    constexpr ForwardConfig kConfig = forward_table::wgmma(DType::kF16, 64, 64, 8, 128);
    Jobs<kConfig> jobs(p.works);
    int index = 0;
    for (Job job = jobs.next(); job.work.queries != 0; job = jobs.next(), ++index) {
      const Work& work = job.work;
      const int tile =
          (work.queries - work.first_row + kConfig.block_m - 1) / kConfig.block_m - 1;  // the longest first
      const int number =
          work.head * p.works.forward.slots + first_slot<kConfig.block_m>(work.q_offset, work.sequence) + tile;
      const int block = arch::block().x;
      if (arch::lane() != 0) continue;
      arch::store_if(true, p.block_of, number, block);
      arch::store_if(true, p.index_of, number, index);
      arch::atomic_add<arch::MemoryOrder::kRelaxed>(p.times, number, 1);
    }
  }
};

struct Assigned {
  std::vector<int> block_of, index_of, times;  // by head and slot
};

/// How `p`, whose order and forward are set, assigns all tiles to so many blocks.
Assigned assign(TakeTiles::Params p, int blocks, const std::vector<int>& cu_seqlens) {
  const int works = p.works.works = p.works.forward.heads.by * p.works.forward.slots;
  Assigned assigned{std::vector<int>(works, -1), std::vector<int>(works, -1), std::vector<int>(works, 0)};
  p.block_of = assigned.block_of.data(), p.index_of = assigned.index_of.data(), p.times = assigned.times.data();
  emu::Memory memory;
  for (int* each : {p.block_of, p.index_of, p.times}) memory.writable("tiles", each, works * sizeof(int));
  if (p.works.taken != nullptr) memory.writable("taken", p.works.taken, sizeof(int));
  memory.read_only("cu_seqlens", cu_seqlens.data(), cu_seqlens.size() * sizeof(int));
  const auto ran = emu::launch<TakeTiles>({blocks, 1, 1}, p, memory, {});
  EXPECT_TRUE(ran) << ran.error().message;
  return assigned;
}

Assigned assign(WorkOrder order, int heads, int tiles, int blocks) {
  TakeTiles::Params p{};
  p.works.order = order;
  p.works.all_heads = heads;
  ForwardParams& f = p.works.forward;
  f.batch = 1, f.heads = Divisor(heads), f.tiles = Divisor(tiles), f.slots = tiles;
  f.seqlen_q = f.seqlen_k = tiles * 128;
  return assign(p, blocks, {});
}

/// Of sequences that begin at these offsets, in tensors of `rows` rows; `taken`: a counter that is 0, or nullptr.
Assigned assign(WorkOrder order, const std::vector<int>& cu_seqlens, int rows, int heads, int blocks, int* taken) {
  TakeTiles::Params p{};
  p.works.order = order;
  p.works.taken = taken;
  ForwardParams& f = p.works.forward;
  f.batch = static_cast<int>(cu_seqlens.size()) - 1, f.heads = Divisor(heads), f.slots = rows / 128 + f.batch;
  f.seqlen_q = f.seqlen_k = rows;
  f.cu_seqlens_q = f.cu_seqlens_k = cu_seqlens.data();
  return assign(p, blocks, cu_seqlens);
}

/// Cost of a block's tiles where tile t of a head, the longest first, costs tiles - t: most over mean.
double most_over_mean(const Assigned& assigned, int tiles, int blocks) {
  std::vector<double> cost(blocks, 0);
  double all = 0;
  for (std::size_t i = 0; i < assigned.block_of.size(); ++i) {
    cost[assigned.block_of[i]] += tiles - static_cast<int>(i) % tiles;
    all += tiles - static_cast<int>(i) % tiles;
  }
  return *std::max_element(cost.begin(), cost.end()) / (all / blocks);
}

TEST(Works, AreEachTakenOnce) {
  for (const WorkOrder order : {WorkOrder::kAsNumbered, WorkOrder::kLongestFirst, WorkOrder::kPairsThenLongest})
    for (const int heads : {1, 2, 7, 33})
      for (const int tiles : {1, 2, 3, 8, 13})
        for (const int blocks : {1, 2, 5, 64, 500}) {
          const Assigned assigned = assign(order, heads, tiles, blocks);
          EXPECT_EQ(assigned.times, std::vector<int>(heads * tiles, 1))
              << static_cast<int>(order) << ": " << heads << " heads, " << tiles << " tiles, " << blocks << " blocks";
        }
}

TEST(Works, UnderACausalMaskCostBlocksTheSame) {
  EXPECT_LT(most_over_mean(assign(WorkOrder::kLongestFirst, 16, 32, 33), 32, 33), 1.04);
  EXPECT_LT(most_over_mean(assign(WorkOrder::kPairsThenLongest, 33, 8, 33), 8, 33), 1.01);
  EXPECT_GT(most_over_mean(assign(WorkOrder::kAsNumbered, 16, 32, 33), 32, 33), 1.04);
  // Pairs do not fill their last wave (7.76 of 8), and an odd number of tiles leaves one without a partner.
  EXPECT_LT(most_over_mean(assign(WorkOrder::kPairsThenLongest, 64, 32, 132), 32, 132), 1.012);
  EXPECT_LT(most_over_mean(assign(WorkOrder::kPairsThenLongest, 256, 11, 132), 11, 132), 1.02);
  // A head's eight tiles or fewer, in serpentine order.
  for (const int tiles : {2, 3, 4, 6, 8})
    EXPECT_LT(most_over_mean(assign(WorkOrder::kAsNumbered, 512, tiles, 132), tiles, 132), 1.08) << tiles;
}

TEST(Works, PairsKeepHeadsTogetherUntilTheLastWaves) {
  const Assigned assigned = assign(WorkOrder::kPairsThenLongest, 64, 32, 132);
  for (int head = 0; head < 16; ++head)
    for (int tile = 0; tile < 32; ++tile) {
      const int pair = head * 16 + std::min(tile, 31 - tile);
      EXPECT_EQ(assigned.index_of[head * 32 + tile], pair / 132 * 2 + (tile < 16 ? 0 : 1)) << head << ", " << tile;
    }
}

const std::vector<int> kOffsets{0, 700, 700, 701, 1100, 1228, 4000};

TEST(Works, OfSequencesAreEachTakenOnce) {
  for (const int rows : {4000, 4500})  // the last ones belong to no sequence
    for (const int heads : {1, 3, 20})
      for (const int blocks : {1, 7, 132})
        for (const WorkOrder order : {WorkOrder::kAsNumbered, WorkOrder::kByHead})
          for (const bool by_counter : {false, true}) {
            int taken = 0;
            const Assigned assigned = assign(order, kOffsets, rows, heads, blocks, by_counter ? &taken : nullptr);
            for (int head = 0; head < heads; ++head)
              for (std::size_t i = 0; i + 1 < kOffsets.size(); ++i)
                for (int tile = 0; tile < (kOffsets[i + 1] - kOffsets[i] + 127) / 128; ++tile) {
                  const int slots = rows / 128 + static_cast<int>(kOffsets.size()) - 1;
                  const int number = head * slots + first_slot<128>(kOffsets[i], static_cast<int>(i)) + tile;
                  EXPECT_EQ(assigned.times[number], 1) << rows << " rows, head " << head << ", sequence " << i;
                }
            EXPECT_EQ(std::ranges::count(assigned.times, 1), heads * (6 + 1 + 4 + 1 + 22)) << "and nothing else";
            EXPECT_EQ(taken > 0, by_counter);
          }
}

TEST(Works, OfASequenceComeHeadAfterHead) {
  const Assigned assigned = assign(WorkOrder::kByHead, {0, 1000, 1300}, 1300, 4, 1, nullptr);
  const int slots = 1300 / 128 + 2;
  std::vector<int> by_index(4 * (8 + 3), -1);
  for (int head = 0; head < 4; ++head)
    for (int slot = 0; slot < slots; ++slot)
      if (const int index = assigned.index_of[head * slots + slot]; index >= 0)
        by_index[index] = slot < 8 ? head : 4 + head;
  EXPECT_TRUE(std::ranges::is_sorted(by_index)) << testing::PrintToString(by_index);
}

TEST(Works, OffsetsThatFallEndTooAndLeadNowhereElse) {
  for (const WorkOrder order : {WorkOrder::kAsNumbered, WorkOrder::kByHead})
    EXPECT_EQ(assign(order, {0, 900, 100, 1000}, 1000, 3, 5, nullptr).times.size(), 3u * (1000 / 128 + 3));
}

/// Counts how often each block of rows is computed where blocks take heads or rounds of them, and the key tiles that a
/// thread block's rounds visit.
struct TakeRows {
  static constexpr ForwardConfig kConfig = forward_table::wgmma(DType::kBF16, 128, 128, 12, 64, 4);
  static constexpr int kThreads = 3 * 32, kMinBlocks = 1;
  struct Params {
    WgmmaForwardParams works;
    int *times, *visits;
  };
  struct Shared {};
  static void run(const Params& p) {
    const HeadRounds<kConfig> rounds(p.works);
    const bool stay = rounds.stay();
    const int group = arch::warp();
    for (WarpgroupRows<kConfig> own(p.works, group, stay); own.head() < p.works.all_heads; own.next(p.works, stay)) {
      const int rows = rounds.rows_at(own.place());
      if (rows < 0 || arch::lane() != 0) continue;
      arch::atomic_add<arch::MemoryOrder::kRelaxed>(p.times, own.head() * rounds.blocks() + rows, 1);
      arch::atomic_add<arch::MemoryOrder::kRelaxed>(p.visits, arch::block().x, rounds.tiles(rows));
    }
  }
};

TEST(Rounds, AreAssignedOnceAndAboutEvenly) {
  constexpr int kBlocks = 12;
  for (const bool causal : {false, true})
    for (const int queries : {100, 250, 300, 512, 640, 700, 1100})
      for (const int heads : {5, 60, 144}) {
        SCOPED_TRACE(::testing::Message() << heads << " heads of " << queries << (causal ? " causal" : ""));
        const int blocks = (queries + 63) / 64;
        TakeRows::Params p{};
        p.works.all_heads = heads;
        ForwardParams& f = p.works.forward;
        f.seqlen_q = f.seqlen_k = queries;
        f.causal = causal;
        f.window_left = f.window_right = -1;
        f.tiles = Divisor((queries + TakeRows::kConfig.block_m - 1) / TakeRows::kConfig.block_m);
        std::vector<int> times(heads * blocks), visits(kBlocks);
        p.times = times.data(), p.visits = visits.data();
        emu::Memory memory;
        memory.writable("times", p.times, times.size() * sizeof(int));
        memory.writable("visits", p.visits, visits.size() * sizeof(int));
        const auto ran = emu::launch<TakeRows>({kBlocks, 1, 1}, p, memory, {});
        ASSERT_TRUE(ran) << ran.error().message;
        EXPECT_EQ(std::ranges::count(times, 1), heads * blocks);
        if (heads != 144) continue;
        const auto [least, most] = std::ranges::minmax(visits);
        EXPECT_LT(most, 1.13 * least);
      }
}

}  // namespace
}  // namespace flashfit
