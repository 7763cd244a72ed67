// Blocks that stay share the tiles of rows: each tile is one block's, once, in every order.
#include "kernels/attention/forward/wgmma/works.cuh"

#include <gtest/gtest.h>

#include <algorithm>
#include <vector>

#include "kernels/attention/forward/variants_table.hpp"
#include "proof/emu/launch.hpp"
#include "proof/emu/memory.hpp"

namespace flashfit {
namespace {

/// Writes which block computes a tile, and counts how often one does.
struct TakeTiles {
  static constexpr int kThreads = 32, kMinBlocks = 1;
  struct Params {
    WgmmaForwardParams works;
    int *block_of, *times;
  };
  struct Shared {};
  static void run(const Params& p) {
    constexpr ForwardConfig kConfig = variant_rows::wgmma(DType::kF16, 64, 64, 8, 128);
    Jobs<kConfig> jobs(p.works);
    for (Job job = jobs.next(); job.work.queries != 0; job = jobs.next()) {
      const int tile = (job.work.queries - job.work.first_row) / kConfig.block_m - 1;  // the longest first
      const int number = job.work.head * p.works.forward.tiles.by + tile, block = arch::block().x;
      if (arch::lane() != 0) continue;
      arch::store_if(true, p.block_of, number, block);
      arch::atomic_add<arch::MemoryOrder::kRelaxed>(p.times, number, 1);
    }
  }
};

struct Dealt {
  std::vector<int> block_of, times;
};

Dealt deal(WorkOrder order, int heads, int tiles, int blocks) {
  const int works = heads * tiles;
  Dealt dealt{std::vector<int>(works, -1), std::vector<int>(works, 0)};
  TakeTiles::Params p{};
  p.works.order = order, p.works.works = works;
  p.works.all_heads = Divisor(heads), p.works.pairs = Divisor((tiles + 1) / 2);
  ForwardParams& f = p.works.forward;
  f.batch = 1, f.heads = Divisor(heads), f.tiles = Divisor(tiles), f.slots = tiles;
  f.seqlen_q = f.seqlen_k = tiles * 128;
  p.block_of = dealt.block_of.data(), p.times = dealt.times.data();
  emu::Memory memory;
  memory.writable("block_of", p.block_of, works * sizeof(int));
  memory.writable("times", p.times, works * sizeof(int));
  const auto ran = emu::launch<TakeTiles>({blocks, 1, 1}, p, memory, {});
  EXPECT_TRUE(ran) << ran.error().message;
  return dealt;
}

/// Cost of a block's tiles where tile t of a head, the longest first, costs tiles - t: most over mean.
double most_over_mean(const Dealt& dealt, int tiles, int blocks) {
  std::vector<double> cost(blocks, 0);
  double all = 0;
  for (std::size_t i = 0; i < dealt.block_of.size(); ++i) {
    cost[dealt.block_of[i]] += tiles - static_cast<int>(i) % tiles;
    all += tiles - static_cast<int>(i) % tiles;
  }
  return *std::max_element(cost.begin(), cost.end()) / (all / blocks);
}

TEST(Works, AreEachTakenOnce) {
  for (const WorkOrder order : {WorkOrder::kAsNumbered, WorkOrder::kLongestFirst, WorkOrder::kPairs})
    for (const int heads : {1, 2, 7, 33})
      for (const int tiles : {1, 2, 3, 8, 13})
        for (const int blocks : {1, 2, 5, 64, 500}) {
          const Dealt dealt = deal(order, heads, tiles, blocks);
          EXPECT_EQ(dealt.times, std::vector<int>(heads * tiles, 1))
              << static_cast<int>(order) << ": " << heads << " heads, " << tiles << " tiles, " << blocks << " blocks";
        }
}

TEST(Works, UnderACausalMaskCostBlocksTheSame) {
  EXPECT_LT(most_over_mean(deal(WorkOrder::kLongestFirst, 16, 32, 33), 32, 33), 1.02);
  EXPECT_LT(most_over_mean(deal(WorkOrder::kPairs, 33, 8, 33), 8, 33), 1.01);
  EXPECT_GT(most_over_mean(deal(WorkOrder::kAsNumbered, 16, 32, 33), 32, 33), 1.02);
}

}  // namespace
}  // namespace flashfit
