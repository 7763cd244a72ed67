#include "plan/model.hpp"

#include <algorithm>
#include <cmath>

namespace flashfit {
namespace {

constexpr double kSharedBytesClk = 128;     // shared memory bandwidth of an SM
constexpr double kInstructionsScore = 4.5;  // fp32 instructions a score: scale, maximum, subtract, sum, half a pack
constexpr double kTileLatency = 100;    // cycles a tile that only other resident blocks hide: barrier, pipeline wait
constexpr double kStartLatency = 2000;  // cycles a block: Q and the first K from DRAM, the epilogue
constexpr double kLaunchMicroseconds = 2;
// Share of the shorter phases that is not hidden under the longest one: kSerial + kPerWarp / (warps a scheduler), at
// most 1. Fitted to the four measured kernels of docs/plan.md.
constexpr double kSerial = 0.4, kPerWarp = 0.5;

double exponentials_clk(ComputeCapability cc) { return cc == ComputeCapability{10, 3} ? 32 : 16; }
double fp32_lanes(ComputeCapability cc) { return cc <= ComputeCapability{8, 0} ? 64 : 128; }

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// Key tiles that a block visits, on average over the blocks of a sequence.
double visited_tiles(const ForwardConfig& c, const ForwardProblem& p) {
  const double queries = p.seqlen_q, keys = p.seqlen_k, all = ceil_div(keys, c.block_n);
  if (!p.causal || queries == 0) return all;
  const double shift = keys - queries;  // row i sees i + 1 + shift keys
  const double seen = shift >= 0 ? queries * shift + queries * (queries + 1) / 2 : keys * (keys + 1) / 2;
  return std::min(
      all, seen / queries / c.block_n +
               (c.block_m + c.block_n) / (2.0 * c.block_n));  // a block visits what its last row sees, in whole tiles
}

/// Cycles of each unit of an SM for one block and key tile, every scheduler busy.
struct Cycles {
  double tensor, exponentials, shared, fp32;
  double sum() const { return tensor + exponentials + shared + fp32; }
  double longest() const { return std::max({tensor, exponentials, shared, fp32}); }
};

Cycles tile_cycles(const ForwardConfig& c, int spill_bytes, const Gpu& gpu) {
  const double scores = double(c.block_m) * c.block_n, kv_bytes = 2.0 * c.block_n * c.head_dim * size_of(c.dtype);
  return {.tensor = 4 * scores * c.head_dim / gpu.mma_flops_clk_sm,
          .exponentials = scores / exponentials_clk(gpu.cc),
          .shared = ((c.warps + 1) * kv_bytes + 2.0 * spill_bytes * forward_threads(c)) / kSharedBytesClk,
          .fp32 = kInstructionsScore * scores / fp32_lanes(gpu.cc)};
}

/// Cycles a tile when `resident` blocks share the SM.
double tile_time(const Cycles& t, int warps, int resident) {
  const double per_scheduler = warps * resident / 4.0;
  const double idle = std::max(1.0, 1 / per_scheduler);  // fewer warps than schedulers leave some empty
  const double exposed = std::min(1.0, kSerial + kPerWarp / per_scheduler);
  return idle * (t.longest() + exposed * (t.sum() - t.longest())) + kTileLatency / resident;
}

double dram_bytes(const ForwardProblem& p) {
  const double rows_q = p.variable_length ? p.total_q : double(p.batch) * p.seqlen_q,
               rows_k = p.variable_length ? p.total_k : double(p.batch) * p.seqlen_k;
  return 2 * size_of(p.dtype) * double(p.head_dim) *
         (rows_q * p.heads_q + rows_k * p.heads_kv);  // Q and O, K and V: caches serve the rest
}

}  // namespace

ForwardModel forward_model(const ForwardConfig& c, const Occupancy& occupancy, int spill_bytes, const ForwardProblem& p,
                           const Gpu& gpu) {
  ForwardModel model{.blocks_per_sm = occupancy.blocks, .limited_by = occupancy.limited_by};
  const double blocks = double(p.batch) * p.heads_q * ceil_div(p.seqlen_q, c.block_m);
  // A what-if may ask for more blocks than any launch has, and than 64 bits count.
  model.waves = std::int64_t(std::min(ceil_div(blocks, double(gpu.sms) * occupancy.blocks), 0x1p62));

  const double tiles = visited_tiles(c, p), a_sm = ceil_div(blocks, gpu.sms);  // blocks of the busiest SM
  const double rounds = std::floor(a_sm / occupancy.blocks);
  const int rest = int(std::fmod(a_sm, occupancy.blocks));
  const Cycles tile = tile_cycles(c, spill_bytes, gpu);
  const auto round = [&](int resident) {
    return kStartLatency / resident + resident * tiles * tile_time(tile, c.warps, resident);
  };
  const double cycles = rounds * round(occupancy.blocks) + (rest ? round(rest) : 0);
  const double compute = cycles / (gpu.clock_ghz * 1e3), dram = dram_bytes(p) / (gpu.dram_gb_s * 1e3);
  model.microseconds = blocks > 0 ? kLaunchMicroseconds + std::max(compute, dram) : 0;

  const double latency = rounds * (kStartLatency / occupancy.blocks + tiles * kTileLatency) +
                         (rest ? kStartLatency / rest + tiles * kTileLatency : 0);
  const double work = a_sm * tiles;
  const struct {
    double cycles;
    const char* name;
  } parts[] = {{work * tile.tensor, "tensor cores"},
               {work * tile.exponentials, "exponentials"},
               {work * tile.shared, "shared memory"},
               {work * tile.fp32, "fp32 units"},
               {latency, "latency"},
               {dram > compute ? cycles + 1 : 0, "DRAM"}};
  const auto* most = std::max_element(std::begin(parts), std::end(parts),
                                      [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  model.bound = most->name;
  return model;
}

}  // namespace flashfit
