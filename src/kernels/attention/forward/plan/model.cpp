#include "kernels/attention/forward/plan/model.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <vector>

#include "kernels/attention/forward/wgmma/head_start.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward/wgmma/work_order.hpp"

namespace flashfit {
namespace {

constexpr double kSharedBytesClk = 128;     // shared memory bandwidth of an SM
constexpr double kInstructionsScore = 4.5;  // fp32 instructions a score: scale, maximum, subtract, sum, half a pack
constexpr double kInstructionsGeneral = 6;  // what a general variant adds where no option is used: it asks for each
// From here on fitted to the variants that were raced on an H200 (bench/results/variants_h200.json, docs/plan.md).
constexpr double kTileLatency = 425;    // cycles a tile that only other resident blocks hide: barrier, pipeline wait
constexpr double kStartLatency = 1550;  // cycles a block: Q and the first K from DRAM, the epilogue
constexpr double kStartNarrow =
    500;  // more, of head_dim 32, whatever else runs: bench/results/variants_h100_short.json
constexpr double kLaunchMicroseconds = 3.2;
// Share of the shorter phases that is not hidden under the longest one: kSerial + kPerWarp / (warps a scheduler), at
// most 1.
constexpr double kSerial = 0.2, kPerWarp = 0.225;
constexpr double kCopyShare = 0.28;  // of the cycles of a copy's writes to shared memory: others fall between reads
// The blocks of a wave begin and end together, so that nobody multiplies while their rows are copied. That matters
// where they have so few tiles, and for so many blocks of an SM; by then they have drifted apart (S4096 x 77 of
// variants_h100.json; a window).
constexpr double kTilesInStep = 3, kBlocksInStep = 20;
// Cycles of an SM for each byte of a score's bias, where all queries have rows of their own: fitted to the times of
// docs/hopper-options.md ("Biases").
constexpr double kBiasByte = 0.27, kBiasByteWgmma = 0.065;
constexpr double kMaskedTile = 0.5;  // of a tile, more for each that the causal diagonal crosses (variants_h100.json)
// Of the key tiles that the block with most sees beyond others under a causal mask, what the last round waits for: at
// head_dim 32, where few rounds are least alike (variants_h100_d32.json). Wider ones are chosen no better with it.
constexpr double kLongestNarrow = 0.25;

// Fitted to decodes that were cut in 1 to 64 parts on an H100 (bench/results/splits_h100.json).
bool few_queries(const ForwardProblem& p) { return p.seqlen_q <= kFewQueries; }
constexpr double kPartTrafficOfMany = 3.8;  // of more queries, where what follows was not measured: as it was before
constexpr double kPartTraffic = 0.75;       // time of writing and reading parts over that of DRAM: some stays in L2
constexpr double kUnhidden = 0.25;          // of computing and DRAM's traffic that take equally long
// The same over wgmma where an SM has at least so many tiles of rows, of more queries.
constexpr double kUnhiddenOfTiles = 0.3, kManyTiles = 4;

double exponentials_clk(ComputeCapability cc) { return cc == ComputeCapability{10, 3} ? 32 : 16; }
double fp32_lanes(ComputeCapability cc) { return cc <= ComputeCapability{8, 0} ? 64 : 128; }

double ceil_div(double a, double b) { return std::ceil(a / b); }

/// Queries in the rows of a block's tile.
double queries_of_tile(const ForwardConfig& c, const ForwardProblem& p) {
  return double(c.block_m) / packed_heads(c, p);
}

/// Tiles of query rows of all sequences and heads.
double row_tiles(const ForwardConfig& c, const ForwardProblem& p) {
  const int pack = packed_heads(c, p);
  return double(p.batch) * (double(p.heads_q) / pack) * ceil_div(double(p.seqlen_q) * pack, c.block_m);
}

/// visited_tiles() under a window: of blocks at even distances.
double visited_in_window(const ForwardConfig& c, const ForwardProblem& p) {
  constexpr int kSamples = 16;
  const double last_key = p.seqlen_k - 1.0, shift = double(p.seqlen_k) - p.seqlen_q;
  const double right = p.causal ? 0.0 : p.window_right < 0 ? double(p.seqlen_q) : double(p.window_right);
  const double left = p.window_left < 0 ? double(p.seqlen_k) : double(p.window_left);
  double tiles = 0;
  for (int i = 0; i < kSamples; ++i) {
    const double row = (i + 0.5) / kSamples * p.seqlen_q + shift;
    const double low = std::max(0.0, row - queries_of_tile(c, p) / 2 - left);
    const double high = std::min(last_key, row + queries_of_tile(c, p) / 2 + right);
    if (high >= low) tiles += std::floor(high / c.block_n) - std::floor(low / c.block_n) + 1;
  }
  return tiles / kSamples;
}

/// Key tiles that a block visits, on average over the blocks of a sequence; one that is masked counts for more, by
/// `masked` of a tile.
double visited_tiles(const ForwardConfig& c, const ForwardProblem& p, double masked = kMaskedTile) {
  const double queries = p.seqlen_q, keys = p.seqlen_k, all = ceil_div(keys, c.block_n);
  if (queries == 0) return all;
  if (p.window_left >= 0 || p.window_right >= 0) return visited_in_window(c, p);
  if (!p.causal) return all;
  const double shift = keys - queries;  // row i sees i + 1 + shift keys
  const double seen = shift >= 0 ? queries * shift + queries * (queries + 1) / 2 : keys * (keys + 1) / 2;
  // A block visits what its last row sees, in whole tiles; the diagonal crosses as many as its queries are long. Where
  // it passes through corners of tiles, nothing is rounded up.
  const double of_tile = queries_of_tile(c, p);
  const auto corners =
      static_cast<double>(std::gcd(std::gcd(std::max(std::int64_t(of_tile), std::int64_t{1}), std::int64_t{c.block_n}),
                                   std::abs(p.seqlen_k - p.seqlen_q)));
  const double visited =
      std::min(all, seen / queries / c.block_n + (of_tile + c.block_n - corners) / (2.0 * c.block_n));
  return visited + masked * std::min(of_tile, queries - 1) / c.block_n;
}

/// The same of the block that sees most, under a causal mask alone.
double visited_by_longest(const ForwardConfig& c, const ForwardProblem& p) {
  if (!p.causal || p.window_left >= 0) return 0;
  return ceil_div(double(p.seqlen_k), c.block_n) + kMaskedTile * queries_of_tile(c, p) / c.block_n;
}

/// Query rows of a block's tile that has most.
double rows_of_tile(const ForwardConfig& c, const ForwardProblem& p) {
  return std::min(double(p.seqlen_q) * packed_heads(c, p), double(c.block_m));
}
/// Share of a block's warps over mma.sync that have rows; the others only copy.
double working_share(const ForwardConfig& c, const ForwardProblem& p) {
  const int groups = c.warps / c.column_warps;  // of warps with the same rows
  return std::clamp(ceil_div(rows_of_tile(c, p), double(c.block_m) / groups), 1.0, double(groups)) / groups;
}

/// Cycles of each unit of an SM for one block and key tile, every scheduler busy.
struct Cycles {
  double tensor, exponentials, shared, fp32;
  double bias;  ///< its loads, which nothing hides
  double sum() const { return tensor + exponentials + shared + fp32; }
  double longest() const { return std::max({tensor, exponentials, shared, fp32}); }
};

Cycles tile_cycles(const ForwardConfig& c, const ForwardProblem& p, double working, int spill_bytes, const Gpu& gpu) {
  // Warps that share rows each make all of their scores.
  const double scores = working * c.block_m * c.block_n * c.column_warps;
  const double warps = working * c.warps, row_warps = warps / c.column_warps;
  const double k_bytes = double(c.block_n) * c.head_dim * size_of(c.dtype);
  const double v_bytes = double(c.block_n) * c.head_dim_v * size_of(c.dtype);
  const double instructions = kInstructionsScore + (c.kind == ForwardKind::kGeneral ? kInstructionsGeneral : 0);
  return {.tensor = 2 * scores * (c.head_dim + double(c.head_dim_v) / c.column_warps) / gpu.mma_flops_clk_sm,
          .exponentials = scores / exponentials_clk(gpu.cc),
          .shared = ((warps + kCopyShare) * k_bytes + (row_warps + kCopyShare) * v_bytes +
                     2.0 * spill_bytes * forward_threads(c)) /
                    kSharedBytesClk,
          .fp32 = instructions * scores / fp32_lanes(gpu.cc),
          .bias = kBiasByte * scores * bias_bytes(p.bias, p.dtype)};
}

/// Of Q and O.
double dram_bytes_of_rows(const ForwardProblem& p) {
  const double rows = p.variable_length ? p.total_q : double(p.batch) * p.seqlen_q;
  return size_of(p.dtype) * (double(p.head_dim) + p.head_dim_v) * rows * p.heads_q;
}
/// Of Q and O, K and V: caches serve the rest.
double dram_bytes(const ForwardProblem& p) {
  const double rows_k = p.variable_length ? p.total_k : double(p.batch) * p.seqlen_k;
  return dram_bytes_of_rows(p) + size_of(p.dtype) * (double(p.head_dim) + p.head_dim_v) * rows_k * p.heads_kv;
}

/// Microseconds of a kernel that only waits for DRAM: nothing comes while its first blocks start.
double dram_time(const ForwardProblem& p, double start_cycles, const Gpu& gpu) {
  return (few_queries(p) ? start_cycles / (gpu.clock_ghz * 1e3) : 0) + dram_bytes(p) / (gpu.dram_gb_s * 1e3);
}

/// The longer of both, and where they take about as long some of the shorter: neither hides the other then.
double partly_hidden(double compute, double dram, double unhidden) {
  const double least = std::min(compute, dram), most = std::max(compute, dram), share = least / most;
  return most + unhidden * least * share * share;
}
double together(const ForwardProblem& p, double compute, double dram) {
  return few_queries(p) ? partly_hidden(compute, dram, kUnhidden) : std::max(compute, dram);
}

/// Microseconds of the rows' traffic that the products of all waves but the first do not hide: the first wave's is
/// part of kStartLatency. `blocks`: of an SM, of `tiles` tiles each.
double exposed_traffic(const ForwardProblem& p, double tiles, double blocks, int resident, const Gpu& gpu) {
  if (blocks <= resident) return 0;
  const double of_tiles = std::min(1.0, kTilesInStep / std::max(tiles, 1.0));
  const double of_blocks = std::min(1.0, kBlocksInStep / blocks);
  const double share = of_tiles * of_tiles * of_blocks * (1 - resident / blocks);
  return share * dram_bytes_of_rows(p) / (gpu.dram_gb_s * 1e3);
}

/// Microseconds that splitting adds: partial results written and read. The launch that reads them begins early.
double combine_time(const ForwardConfig& c, const ForwardProblem& p, int splits, const Gpu& gpu) {
  if (splits == 1) return 0;
  const double rows = p.variable_length ? p.total_q : double(p.batch) * p.seqlen_q;
  const double bytes = 2 * sizeof(float) * rows * p.heads_q * splits * c.head_dim_v;
  return (few_queries(p) ? kPartTraffic : kPartTrafficOfMany) * bytes / (gpu.dram_gb_s * 1e3);
}

// Over wgmma, fitted to runs on an H100 (docs/plan.md). Little of making weights is hidden, more where three warpgroups
// share the tensor cores.
constexpr double kWgmmaFlopsClk = 4096;  // of an SM of 9.0, 16-bit, dense
/// Shares of the shorter of products and weights, and cycles a tile of keys, however few.
struct Exposed {
  double of_two, of_three, cycles;
};
// Up to head_dim 128, kernels have ping-pong. A tile of 128 keys takes as long by either; kernels with softcap were not
// timed with other tiles.
constexpr Exposed kExposed = {0.65, 0.52, 0}, kExposedInPingPong = {0.406, 0.357, 250};
// Cycles that copying a row of K or V adds to a tile if the row ends between two sectors of memory and all SMs copy; in
// tiles wider than one panel. Of 128 columns and more it matters whether heads are copied from a sector's start on.
constexpr double kCopyOfCutRow = 2.3, kCopyOfWideCutRow = 3.7, kCopyFromSector = 1.2;
double copy_of_cut_row(const ForwardConfig& c) {
  return c.head_dim < 128 ? kCopyOfCutRow : copies_from_sectors(c) ? kCopyFromSector : kCopyOfWideCutRow;
}
constexpr double kAloneInTile = 300;      // cycles a tile of keys where one warpgroup has all rows: nothing is hidden
constexpr double kJobStart = 3900;        // cycles a tile of rows
constexpr double kJobStartOfPart = 2000;  // more, where keys are cut in parts: no job before hides it
constexpr double kJobStartColumn = 10.5;  // more, for each column of Q, where Q has one buffer
// Of head_dim 32 (variants_h100_d32.json): cycles a tile of rows; more for a block's first one, whose Q and K nothing
// hides, while the next ones' come during the products before; and the half of a masked tile, where products are short.
constexpr double kJobStartNarrow = 2300, kFirstJobNarrow = 1700, kMaskedTileNarrow = 0.65;

// Of blocks over wgmma that take whole heads or rounds of them, cycles of an SM, fitted to races on an H100
// (bench/results/variants_h100_short.json): of 64 rows, and of a tile of 64 rows and 64 keys, each with a share for
// each column; of a tile, more where a causal mask hides part of it; and the share of what the longest rows see beyond
// others in a block's only round.
constexpr double kRowsStart = 360, kRowsStartColumn = 7.44, kApart = 309, kApartColumn = 2.41, kMaskedApart = 0.2,
                 kLongestApart = 0.9;
// The same of head_dim 32, whose exponentials take longer than its products: of rows, and of a tile; and the share of a
// tile's cycles that its keys do not change (docs/hopper-options.md, "Head_dim 32").
constexpr double kRowsNarrow = 800, kApartNarrow = 364, kApartWhateverKeys = 0.17;
// Where an SM has so few rounds that their order matters: what a block takes over the sum of its warpgroups' cycles,
// since these do not end together.
constexpr double kFewRoundsPerSm = 16, kTogether = 1.05;
// What a warpgroup that has no rows in a round takes of one that has. At head_dim 32 fewer warpgroups use less of the
// units, as each waits for its own steps.
constexpr double kWithoutRows = 0.1, kWithoutRowsNarrow = 0.2;
constexpr double without_rows(const ForwardConfig& c) { return c.head_dim < 64 ? kWithoutRowsNarrow : kWithoutRows; }
constexpr double kUnhiddenApart = 0.42;  // of computing and DRAM's traffic that take equally long, in many rounds

// Operations of the exponential units a score: of a general row, with softcap, the weight, a power of 2 and a share of
// a reciprocal, counted; of a row without large scores the weight alone (wgmma/softcap.cuh), but the plan does not know
// scores. With ALiBi the weight, and a guess of what its three instructions beside these units cost; with a bias what
// is left of its times beside kBiasByteWgmma.
constexpr double exponentials_a_score(ForwardKind kind) {
  switch (kind) {
    case ForwardKind::kPlain:
      return 1;
    case ForwardKind::kGeneral:
    case ForwardKind::kBias:
      return 2.25;
    case ForwardKind::kAlibi:
      return 1.5;
  }
  return 1;
}

/// Cycles of a block over wgmma and one key tile.
struct WgmmaTile {
  double tensor, weights, copies, bias;
  Exposed exposed;

  WgmmaTile(const ForwardConfig& c, const ForwardProblem& p, const Gpu& gpu) {
    const double scores = double(c.block_m) * c.block_n;
    tensor = 2 * scores * (c.head_dim + c.head_dim_v) / kWgmmaFlopsClk;
    weights = scores * exponentials_a_score(c.kind) / exponentials_clk(gpu.cc);
    const auto cut_rows = [&](int head_dim, int padded) {
      return padded > 64 && ends_between_sectors(head_dim) ? c.block_n : 0;
    };
    bias = kBiasByteWgmma * scores * bias_bytes(p.bias, p.dtype);
    copies = copy_of_cut_row(c) * (cut_rows(p.head_dim, c.head_dim) + cut_rows(p.head_dim_v, c.head_dim_v));
    exposed = c.head_dim <= 128 && c.kind == ForwardKind::kPlain ? kExposedInPingPong : kExposed;
  }
  double time(int warps, double rows) const {
    if (rows <= 64) return (tensor + weights + bias) / (warps / 4.0) + kAloneInTile;
    const double share = warps == 8 ? exposed.of_two : exposed.of_three;
    return std::max(tensor, weights) + share * std::min(tensor, weights) + bias + exposed.cycles;
  }
};

/// Blocks over wgmma share the tiles of rows, so that under a causal mask all SMs end together.
void model_wgmma(ForwardModel& model, const ForwardConfig& c, const ForwardProblem& p, int splits, const Gpu& gpu) {
  const bool narrow = c.head_dim < 64;
  const double works = row_tiles(c, p) * splits,
               tiles = visited_tiles(c, p, narrow ? kMaskedTileNarrow : kMaskedTile) / splits;
  const double start = (narrow ? kJobStartNarrow : kJobStart) +
                       (forward_q_buffers(c) == 1 ? kJobStartColumn * c.head_dim : 0) +
                       (splits > 1 ? kJobStartOfPart : 0);
  const double first = narrow ? kFirstJobNarrow : 0;
  const WgmmaTile tile(c, p, gpu);
  const bool cost_the_same = !p.variable_length && tiles_cost_the_same(p);
  const double of_an_sm = cost_the_same ? ceil_div(works, gpu.sms) : std::max(1.0, works / gpu.sms);
  const double busy = works / std::max(1.0, of_an_sm * gpu.sms);  // share of the SMs
  const double of_one = start + tiles * (tile.time(c.warps, rows_of_tile(c, p)) + busy * tile.copies);
  const double compute = (first + of_an_sm * of_one) / (gpu.clock_ghz * 1e3);
  const double dram = dram_time(p, first + start, gpu);
  const bool overlap = few_queries(p) || of_an_sm < kManyTiles;
  const double both = overlap ? together(p, compute, dram) : partly_hidden(compute, dram, kUnhiddenOfTiles);
  model.microseconds = works > 0 ? kLaunchMicroseconds + both + combine_time(c, p, splits, gpu) : 0;
  model.bound = dram > compute ? "DRAM" : tile.weights >= tile.tensor ? "exponentials" : "tensor cores";
}

/// Cycles of the thread block that has most to do, of blocks that take rounds of heads under a causal mask: rounds are
/// assigned in serpentine order (wgmma/heads/rounds.cuh), so that in few waves some have more of the long ones.
double busiest_in_serpentine(const ForwardConfig& c, const ForwardProblem& p, double of_rows, double of_tile, int sms) {
  const std::int64_t groups = c.warps / 4, blocks = (p.seqlen_q + kWarpgroupRows - 1) / kWarpgroupRows;
  std::vector<double> of_round((blocks + groups - 1) / groups);
  for (std::int64_t place = 0; place < std::int64_t(of_round.size()) * groups; ++place) {
    const double rows_end = std::min(double(blocks - place) * kWarpgroupRows, double(p.seqlen_q));
    const double seen = std::clamp(rows_end + double(p.seqlen_k) - double(p.seqlen_q), 0.0, double(p.seqlen_k));
    of_round[place / groups] +=
        place < blocks ? of_rows + of_tile * ceil_div(seen, c.block_n) : without_rows(c) * of_rows;
  }
  const std::int64_t rounds = std::int64_t(of_round.size()), all = p.batch * p.heads_q * rounds;
  double most = 0;
  for (int block = 0; block < sms; ++block) {
    double cycles = 0;
    for (std::int64_t first = 0; first < all; first += sms) {
      const std::int64_t i = first + (first / sms % 2 == 0 ? block : sms - 1 - block);
      if (i < all) cycles += of_round[i % rounds];
    }
    most = std::max(most, cycles);
  }
  return most;
}

/// Blocks that take whole heads, where all keys of one fit in the ring, or rounds of heads. Their warpgroups share the
/// rows.
void model_heads(ForwardModel& model, const ForwardConfig& c, const ForwardProblem& p, const Gpu& gpu) {
  ForwardConfig of_warpgroup = c;
  of_warpgroup.block_m = kWarpgroupRows;
  const double heads = double(p.batch) * double(p.heads_q), blocks = ceil_div(double(p.seqlen_q), kWarpgroupRows);
  const double groups = c.warps / 4.0, rounds = ceil_div(blocks, groups),
               keys = ceil_div(double(p.seqlen_k), c.block_n);
  const bool whole = keys <= c.stages;
  const double rounds_per_sm = whole ? ceil_div(heads, gpu.sms) * rounds : ceil_div(heads * rounds, gpu.sms);
  const double with_rows =
      std::max(whole ? ceil_div(heads, gpu.sms) * blocks : rounds_per_sm * blocks / rounds, groups);
  const double jobs = with_rows + without_rows(c) * (rounds_per_sm * groups - with_rows);
  double tiles = visited_tiles(of_warpgroup, p, p.causal ? kMaskedApart : 0);
  tiles += std::max(0.0, keys - tiles) * kLongestApart / std::max(rounds_per_sm, 1.0);
  const bool narrow = c.head_dim < 64;
  const double of_rows = narrow ? kRowsNarrow : kRowsStart + kRowsStartColumn * c.head_dim;
  const double of_64_keys = narrow ? kApartNarrow : kApart + kApartColumn * c.head_dim;
  const double of_tile = of_64_keys * (kApartWhateverKeys + (1 - kApartWhateverKeys) * c.block_n / 64);
  const WgmmaTile tile(c, p, gpu);
  const double copied = whole ? ceil_div(heads, gpu.sms) * keys : rounds_per_sm * tiles;
  const double cycles = p.causal && !whole && rounds_per_sm <= kFewRoundsPerSm
                            ? kTogether * busiest_in_serpentine(c, p, of_rows, of_tile, gpu.sms)
                            : jobs * (of_rows + of_tile * tiles);
  const double compute = (cycles + copied * tile.copies) / (gpu.clock_ghz * 1e3);
  const double dram = dram_bytes(p) / (gpu.dram_gb_s * 1e3);
  const double unhidden = kUnhiddenApart * (1 - 1 / std::max(rounds_per_sm, 1.0));
  model.microseconds = heads * blocks > 0 ? kLaunchMicroseconds + partly_hidden(compute, dram, unhidden) : 0;
  model.bound = dram > compute ? "DRAM" : tile.weights >= tile.tensor ? "exponentials" : "tensor cores";
}

/// Cycles a tile when `resident` blocks share the SM.
double tile_time(const Cycles& t, double warps, int resident) {
  const double per_scheduler = warps * resident / 4.0;
  const double idle = std::max(1.0, 1 / per_scheduler);  // fewer warps than schedulers leave some empty
  const double exposed = std::min(1.0, kSerial + kPerWarp / per_scheduler);
  return idle * (t.longest() + exposed * (t.sum() - t.longest())) + t.bias + kTileLatency / resident;
}

}  // namespace

ForwardModel forward_model(const ForwardConfig& c, const Occupancy& occupancy, int spill_bytes, const ForwardProblem& p,
                           const Gpu& gpu, int splits) {
  ForwardModel model{.blocks_per_sm = occupancy.blocks, .limited_by = occupancy.limited_by};
  const double blocks = row_tiles(c, p) * splits;
  // A what-if may ask for more blocks than any launch has, and than 64 bits count.
  model.waves = std::int64_t(std::min(ceil_div(blocks, double(gpu.sms) * occupancy.blocks), 0x1p62));

  if (takes_heads(c)) {
    model_heads(model, c, p, gpu);
    return model;
  }
  if (c.engine == ForwardEngine::kWgmma) {
    model_wgmma(model, c, p, splits, gpu);
    return model;
  }
  const double tiles = visited_tiles(c, p) / splits, a_sm = ceil_div(blocks, gpu.sms);  // blocks of the busiest SM
  const double rounds = std::floor(a_sm / occupancy.blocks);
  const int rest = int(std::fmod(a_sm, occupancy.blocks));
  const double working = working_share(c, p);
  const Cycles tile = tile_cycles(c, p, working, spill_bytes, gpu);
  const auto round = [&](int resident) {
    return kStartLatency / resident + resident * tiles * tile_time(tile, working * c.warps, resident);
  };
  const auto longest_of_narrow = [&] {
    const int resident = int(std::clamp(a_sm, 1.0, double(occupancy.blocks)));
    const double more = std::max(0.0, visited_by_longest(c, p) / splits - tiles);
    return kLongestNarrow * more * resident * tile_time(tile, working * c.warps, resident);
  };
  const double narrow = c.head_dim < 64 ? a_sm * kStartNarrow + longest_of_narrow() : 0;
  const double cycles = rounds * round(occupancy.blocks) + (rest ? round(rest) : 0) + narrow;
  const double traffic = exposed_traffic(p, tiles, a_sm, occupancy.blocks, gpu);
  const double compute = cycles / (gpu.clock_ghz * 1e3) + traffic, dram = dram_time(p, kStartLatency, gpu);
  model.microseconds =
      blocks > 0 ? kLaunchMicroseconds + together(p, compute, dram) + combine_time(c, p, splits, gpu) : 0;

  const double latency = rounds * (kStartLatency / occupancy.blocks + tiles * kTileLatency) +
                         (rest ? kStartLatency / rest + tiles * kTileLatency : 0);
  const double work = a_sm * tiles;
  const struct {
    double cycles;
    const char* name;
  } parts[] = {{work * tile.tensor, "tensor cores"},     {work * tile.exponentials, "exponentials"},
               {work * tile.shared, "shared memory"},    {work * tile.fp32, "fp32 units"},
               {work * tile.bias, "loads of the bias"},  {latency, "latency"},
               {dram > compute ? cycles + 1 : 0, "DRAM"}};
  const auto* most = std::max_element(std::begin(parts), std::end(parts),
                                      [](const auto& a, const auto& b) { return a.cycles < b.cycles; });
  model.bound = most->name;
  return model;
}

}  // namespace flashfit
