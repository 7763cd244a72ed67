#pragma once
// Choices sorted by expert: in which row each lies, so that an expert's rows lie together, in the order of tokens and
// then of k. A choice's row is
//   rows of the experts before + its expert's in the chunks before + in this chunk's warps before + in its warp before.
// Nothing depends on the order in which threads run.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/config.hpp"
#include "kernels/moe/experts/ids.cuh"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

class ExpertsSort {
 public:
  using Params = ExpertsRowsParams;

  struct Shared {
    int counts[kRowsWarps][kMostExperts];  ///< of each warp; then the first row of the warp's choices of an expert
    int row_begin[kMostExperts + 1], tile_begin[kMostExperts + 1];
    int sums[2][kRowsWarps];
  };

  /// How many choices of the block's chunk are of each expert.
  static void count(const Params& p, Shared& s) {
    arch::wait_for_step_before();
    arch::let_next_step_begin();
    Choices choices;
    tally(p, s, choices);
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (expert(i) < p.here.owned)
        arch::store_if(true, p.counts, int64{arch::block().x} * p.here.owned + expert(i), sum_warps(s, expert(i)));
  }

  /// kPlace, or kSort. The ids are of a step before, such as a router's. If there are several chunks, then count() ran
  /// between: it waited for the ids before it let this step begin, so this one reads them without a wait.
  static void place(const Params& p, Shared& s) {
    const bool padded = p.step == ExpertsRowsStep::kSort;
    if (p.chunks == 1) arch::wait_for_step_before();
    Choices choices;
    tally(p, s, choices);
    if (p.chunks > 1) arch::wait_for_step_before();
    arch::let_next_step_begin();
    if (p.chunks > 1) sum_chunks(p, s);
    int before[kEach], rows[kEach], tiles[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      before[i] = 0;
      rows[i] = expert(i) < p.here.owned ? sum_warps(s, expert(i)) : 0;
      if (p.chunks > 1 && expert(i) < p.here.owned) add_chunks(p, s, expert(i), before[i], rows[i]);
      tiles[i] = p.tile_rows.quotient(rows[i] + p.tile_rows.by - 1);
    }
    begin(s.row_begin, s.sums[0], rows, p.here.owned);
    begin(s.tile_begin, s.sums[1], tiles, p.here.owned);
    arch::sync_block();
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (expert(i) < p.here.owned) {
        const int none = padded ? expert(i) + 1 : 0;  // rows of no token up to there
        give_rows(s, expert(i), arch::load_shared(s.row_begin, expert(i)) + before[i] + none);
      }
    arch::sync_block();
    write_rows(p, s, choices);
    if (padded) return write_begins(p, s);
    write_tiles(p, s);
  }

  /// Rows that come sorted: expert e's from offsets[e] to offsets[e + 1]. Where offsets fall, or leave the rows, an
  /// expert has none.
  static void take(const Params& p, Shared& s) {
    arch::wait_for_step_before();
    arch::let_next_step_begin();
    begin_at_offsets(p, s);
    int tiles[kEach];
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      const int e = expert(i);
      const int rows = e < p.here.owned ? arch::load_shared(s.row_begin, e + 1) - arch::load_shared(s.row_begin, e) : 0;
      tiles[i] = p.tile_rows.quotient(rows + p.tile_rows.by - 1);
    }
    begin(s.tile_begin, s.sums[1], tiles, p.here.owned);
    arch::sync_block();
    const int first = arch::load_shared(s.row_begin, 0), end = arch::load_shared(s.row_begin, p.here.owned);
    for (int i = arch::thread(); i < kSortChunk; i += kRowsThreads) {
      const int row = arch::block().x * kSortChunk + i;
      if (row >= p.rows) break;
      arch::store_if(true, p.choices, row, row);
      arch::store_if(true, p.places, row, row >= first && row < end ? row : -1);
    }
    write_tiles(p, s);
  }

 private:
  static constexpr int kEach = kMostExperts / kRowsThreads;  // experts of a thread
  static constexpr int kGroups = kSortChunk / kRowsThreads;  // choices of a thread
  static constexpr int kAtOnce = 24;                         // chunks whose counts are loaded together
  static int expert(int i) { return arch::thread() * kEach + i; }

  struct Choices {
    int first, end;      ///< of the warp; a lane's are first + lane, first + lane + 32, ...
    uint32 of[kGroups];  ///< which expert's; p.here.owned or more: none that counts
    int rank[kGroups];   ///< choices of the same expert before it in the warp
  };

  /// Counts of each of the block's warps. There for all threads.
  static void tally(const Params& p, Shared& s, Choices& c) {
    const int begin = arch::block().x * kSortChunk, left = p.rows - begin, size = left < kSortChunk ? left : kSortChunk;
    const int of_warp = (size + kRowsThreads - 1) / kRowsThreads * 32;
    c.first = begin + arch::warp() * of_warp;
    c.end = c.first + of_warp < begin + size ? c.first + of_warp : begin + size;
    int* const counts = s.counts[arch::warp()];
    for (int e = arch::lane(); e < p.here.owned; e += 32) arch::store_shared(counts, e, 0);
    uint32 ids[kGroups];  // all loads are in flight together
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int at = c.first + g * 32 + arch::lane();
      ids[g] = at < c.end ? uint32(arch::load(p.ids, at)) : 0;
    }
#pragma unroll
    for (int g = 0; g < kGroups; ++g)
      c.of[g] = c.first + g * 32 + arch::lane() < c.end ? expert_of(ids[g], p.here) : ~0u;
    arch::sync_warp();
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      if (c.first + g * 32 >= c.end) break;
      const bool counts_for = c.of[g] < uint32(p.here.owned);
      const uint32 same = lanes_alike(c.of[g], counts_for, p.here.owned);
      const uint32 lower = same & ((1u << arch::lane()) - 1);
      const int seen = counts_for ? arch::load_shared(counts, int(c.of[g])) : 0;
      c.rank[g] = seen + arch::count_bits(lower);
      arch::sync_warp();
      if (counts_for && lower == 0) arch::store_shared(counts, int(c.of[g]), seen + arch::count_bits(same));
      arch::sync_warp();
    }
    arch::sync_block();
  }

  /// The lanes whose expert is this lane's, of those that count.
  static uint32 lanes_alike(uint32 of, bool counts_for, int owned) {
    uint32 same = arch::ballot(counts_for);
    for (int bit = 1; bit < owned; bit *= 2) {
      const bool set = (of & uint32(bit)) != 0;
      const uint32 others = arch::ballot(set);
      same &= set ? others : ~others;
    }
    return same;
  }

  /// The block's count of an expert.
  static int sum_warps(const Shared& s, int e) {
    int sum = 0;
#pragma unroll
    for (const auto& counts : s.counts) sum += arch::load_shared(counts, e);
    return sum;
  }
  /// A warp's count becomes the first row of its choices, of rows that begin here.
  static void give_rows(Shared& s, int e, int begin) {
    int each[kRowsWarps];
#pragma unroll
    for (int w = 0; w < kRowsWarps; ++w) each[w] = arch::load_shared(s.counts[w], e);
#pragma unroll
    for (int w = 0; w < kRowsWarps; ++w) {
      arch::store_shared(s.counts[w], e, begin);
      begin += each[w];
    }
  }

  /// A warp sums 32 experts' counts, one a lane. Where these groups of experts are fewer than the warps, each group's
  /// chunks are divided among several warps: parts, which are summed apart.
  static int groups_of(const Params& p) { return (p.here.owned + 31) / 32; }
  static int parts_of(int groups) { return groups < kRowsWarps ? kRowsWarps / groups : 1; }

  /// Each expert's choices in the chunks of each part: those before the block's to s.tile_begin, all to s.row_begin,
  /// which nobody else needs yet. There for all threads.
  static void sum_chunks(const Params& p, Shared& s) {
    const int groups = groups_of(p), parts = parts_of(groups), block = arch::block().x;
    // Each block begins with its own chunk. If all began with chunk 0, then all would ask for the same lines at once.
    const auto chunk = [&](int n) { return n + block < p.chunks ? n + block : n + block - p.chunks; };
    for (int at = arch::warp(); at < groups * parts; at += kRowsWarps) {
      const int part = at / groups, e = (at - part * groups) * 32 + arch::lane();
      int before = 0, all = 0;
      for (int first = part; first < p.chunks; first += kAtOnce * parts) {
        int counts[kAtOnce];  // all loads are in flight together
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          const bool is = first + i * parts < p.chunks && e < p.here.owned;
          counts[i] = is ? arch::load(p.counts, chunk(first + i * parts) * p.here.owned + e) : 0;  // fewer than 2^30
        }
#pragma unroll
        for (int i = 0; i < kAtOnce; ++i) {
          before += chunk(first + i * parts) < block ? counts[i] : 0;
          all += counts[i];
        }
      }
      arch::store_shared(s.tile_begin, at * 32 + arch::lane(), before);
      arch::store_shared(s.row_begin, at * 32 + arch::lane(), all);
    }
    arch::sync_block();
  }
  /// An expert's choices in the chunks before the block's, and in all.
  static void add_chunks(const Params& p, const Shared& s, int e, int& before, int& all) {
    const int groups = groups_of(p), parts = parts_of(groups);
    all = 0;
    for (int part = 0; part < parts; ++part) {
      before += arch::load_shared(s.tile_begin, part * groups * 32 + e);
      all += arch::load_shared(s.row_begin, part * groups * 32 + e);
    }
  }

  /// s_begin[e]: the sum of each[] over the experts before e, to s_begin[owned], that of all. There after sync_block.
  static void begin(int* s_begin, int* s_sums, const int (&each)[kEach], int owned) {
    const int warp = arch::warp();
    int mine = 0;
#pragma unroll
    for (const int one : each) mine += one;
    int upto = mine;
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int lower = arch::shuffle(upto, arch::lane() >= d ? arch::lane() - d : 0);
      upto += arch::lane() >= d ? lower : 0;
    }
    if (arch::lane() == 31) arch::store_shared(s_sums, warp, upto);
    arch::sync_block();
    int sum = upto - mine;
    for (int w = 0; w < warp; ++w) sum += arch::load_shared(s_sums, w);
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      if (expert(i) <= owned) arch::store_shared(s_begin, expert(i), sum);
      sum += each[i];
    }
    if (owned == kMostExperts && arch::thread() == kRowsThreads - 1) arch::store_shared(s_begin, owned, sum);
  }

  /// row_begin[e]: the largest of offsets[0 .. e], none outside of the rows. There for all threads.
  static void begin_at_offsets(const Params& p, Shared& s) {
    const int warp = arch::warp();
    const auto offset = [&](int e) {
      const int at = arch::load(p.offsets, e);
      return at < 0 ? 0 : at > p.rows ? p.rows : at;
    };
    const auto larger = [](int a, int b) { return a > b ? a : b; };
    int each[kEach], upto = 0;
#pragma unroll
    for (int i = 0; i < kEach; ++i) {
      upto = larger(upto, expert(i) <= p.here.owned ? offset(expert(i)) : 0);
      each[i] = upto;
    }
#pragma unroll
    for (int d = 1; d < 32; d *= 2) {
      const int lower = arch::shuffle(upto, arch::lane() >= d ? arch::lane() - d : 0);
      upto = larger(upto, lower);
    }
    if (arch::lane() == 31) arch::store_shared(s.sums[0], warp, upto);
    const int lane_before = arch::shuffle(upto, arch::lane() > 0 ? arch::lane() - 1 : 0);
    arch::sync_block();
    int before = arch::lane() > 0 ? lane_before : 0;
    for (int w = 0; w < warp; ++w) before = larger(before, arch::load_shared(s.sums[0], w));
#pragma unroll
    for (int i = 0; i < kEach; ++i)
      if (expert(i) <= p.here.owned) arch::store_shared(s.row_begin, expert(i), larger(before, each[i]));
    if (p.here.owned == kMostExperts && arch::thread() == kRowsThreads - 1)
      arch::store_shared(s.row_begin, kMostExperts, larger(larger(before, upto), offset(kMostExperts)));
    arch::sync_block();
  }

  static void write_rows(const Params& p, const Shared& s, const Choices& c) {
    const int* const first_rows = s.counts[arch::warp()];
#pragma unroll
    for (int g = 0; g < kGroups; ++g) {
      const int at = c.first + g * 32 + arch::lane();
      if (at >= c.end) break;
      const bool counts_for = c.of[g] < uint32(p.here.owned);
      const int row = counts_for ? arch::load_shared(first_rows, int(c.of[g])) + c.rank[g] : -1;
      arch::store_if(true, p.places, at, row);
      arch::store_if(counts_for, p.choices, row, at);
    }
  }

  /// Where experts begin, and which rows are of no choice. All blocks write a part.
  static void write_begins(const Params& p, const Shared& s) {
    const int64 threads = int64{arch::grid().x} * kRowsThreads;
    const int64 first = int64{arch::block().x} * kRowsThreads + arch::thread();
    for (int64 e = first; e <= p.here.owned; e += threads) {
      const int begin = arch::load_shared(s.row_begin, int(e)) + int(e);
      arch::store_if(true, p.begins, e, begin);
      arch::store_if(e < p.here.owned, p.choices, begin, -1);
    }
    const int end = arch::load_shared(s.row_begin, p.here.owned) + p.here.owned;
    for (int64 row = end + first; row < int64{p.rows} + p.here.owned; row += threads)
      arch::store_if(true, p.choices, row, -1);
  }

  /// All blocks write a part of them.
  static void write_tiles(const Params& p, const Shared& s) {
    const int all = arch::load_shared(s.tile_begin, p.here.owned);
    const int64 threads = int64{arch::grid().x} * kRowsThreads;
    for (int64 i = int64{arch::block().x} * kRowsThreads + arch::thread(); i < all; i += threads) {
      int e = 0, end = p.here.owned;  // tile i is of an expert from e on, before `end`
      while (end - e > 1) {
        const int middle = (e + end) / 2;
        (arch::load_shared(s.tile_begin, middle) <= i ? e : end) = middle;
      }
      const int first_row = arch::load_shared(s.row_begin, e);
      arch::store_if(true, p.tiles, i,
                     ExpertTile{.expert = e,
                                .first_tile = arch::load_shared(s.tile_begin, e),
                                .first_row = first_row,
                                .rows = arch::load_shared(s.row_begin, e + 1) - first_row});
    }
    const bool first = arch::block().x == 0 && arch::thread() == 0;
    arch::store_if(first, p.tile_count, 0, all);
    for (int product = 0; product < 2; ++product) arch::store_if(first, p.taken, product, 0);
    if (arch::block().x == 0)
      for (int i = arch::thread(); i < p.summing_count; i += kRowsThreads) arch::store_if(true, p.summing, i, 0);
  }
};

}  // namespace flashfit
