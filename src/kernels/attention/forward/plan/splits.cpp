#include "kernels/attention/forward/plan/splits.hpp"

#include <algorithm>

#include "kernels/attention/forward/combine/params.hpp"
#include "kernels/attention/forward/plan/model.hpp"
#include "kernels/attention/forward/wgmma/params.hpp"

namespace flashfit {
namespace {

constexpr int kFewestTiles = 2;  // of a part: one would be prologue and epilogue alone

std::int64_t key_tiles(const ForwardConfig& c, const ForwardProblem& p) {
  return p.seqlen_k / c.block_n + (p.seqlen_k % c.block_n != 0);
}

}  // namespace

Splits cut_evenly(std::int64_t tiles, int parts) {
  const auto share = static_cast<int>((tiles + parts - 1) / parts);
  return {static_cast<int>((tiles + share - 1) / share), share};
}

Splits cut_keys(const ForwardConfig& c, const ForwardProblem& p, int parts) {
  const std::int64_t tiles = key_tiles(c, p);
  return tiles == 0 || parts == 1 || !takes_parts(c) ? Splits{1, 0} : cut_evenly(tiles, parts);
}

Splits splits_for(const ForwardConfig& c, const Occupancy& resident, int spill_bytes, const ForwardProblem& p,
                  const Gpu& gpu) {
  // Lengths that vary are known as a mean alone, and a batch-invariant call may not look at it.
  if (p.batch_invariant && p.variable_length) return {1, 0};
  if (c.engine == ForwardEngine::kWgmma && p.seqlen_q > kFewQueries) return {1, 0};
  if (!takes_parts(c)) return {1, 0};
  const std::int64_t tiles = key_tiles(c, p);
  const int pack = packed_heads(c, p);
  const std::int64_t rows = p.seqlen_q * pack;
  const std::int64_t blocks = p.batch * (p.heads_q / pack) * (rows / c.block_m + (rows % c.block_m != 0));
  const std::int64_t room = std::int64_t{gpu.sms} * resident.blocks;
  Splits best{1, 0};
  if (blocks == 0 || blocks * 2 > room || tiles < 2 * kFewestTiles) return best;
  double least = forward_model(c, resident, spill_bytes, p, gpu, 1).microseconds;
  const auto most = std::min<std::int64_t>({kMostParts, tiles / kFewestTiles, room / blocks});
  for (int asked = 2; asked <= most; ++asked) {
    const Splits cut = cut_evenly(tiles, asked);
    const double time = forward_model(c, resident, spill_bytes, p, gpu, cut.splits).microseconds;
    if (time < least) least = time, best = cut;
  }
  return best;
}

ForwardProblem alone(const ForwardProblem& p) {
  constexpr std::int64_t kRows = 2048;
  ForwardProblem one = p;
  one.batch = 1;
  if (p.variable_length) one.seqlen_q = one.seqlen_k = kRows;
  one.total_q = one.seqlen_q;
  one.total_k = one.seqlen_k;
  return one;
}

std::size_t workspace_bytes(const ForwardConfig& c, int splits, const ForwardProblem& p) {
  if (splits == 1) return 0;
  return static_cast<std::size_t>(p.total_q) * p.heads_q * splits * (c.head_dim_v + 1) * sizeof(float);
}

}  // namespace flashfit
