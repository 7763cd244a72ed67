#pragma once
// The table of forward variants, for who must see it at compile time: tests that instantiate all kernels. Others take
// forward_variants().
#include "kernels/attention/forward/variants.hpp"

namespace flashfit {
namespace forward_table {

using enum Target::Kind;
using enum DType;

// PTX of a variant's oldest target runs on what comes after every machine code, and on any newer GPU in tests.
inline constexpr Target kAmpereOn[] = {{80, kSass},  {86, kSass},  {89, kSass}, {90, kSass},
                                       {100, kSass}, {120, kSass}, {80, kPtx}};
inline constexpr Target kHopper[] = {{90, kSass, TargetScope::kArchitecture}};
inline constexpr Target kTuring[] = {{75, kSass}, {75, kPtx}};

// Over mma.sync, q, k and v of one head_dim; a ring of two stages everywhere. held_steps, copy_parts, early_tiles and
// who trusts are the fastest of those that were measured on an H200.
constexpr ForwardConfig mma(DType t, int head_dim, int block_m, int block_n, int warps, int min_blocks,
                            int held_steps = 0, int copy_parts = 1, int early_tiles = 0) {
  ForwardConfig c = tile_config(t, head_dim, block_m, block_n, warps, 2, min_blocks);
  c.held_steps = held_steps;
  c.copy_parts = copy_parts;
  c.early_tiles = early_tiles;
  return c;
}
constexpr ForwardConfig trusting(ForwardConfig c) {
  c.trusting = true;
  return c;
}
// Over wgmma: 16 query rows a warp.
constexpr ForwardConfig wgmma(DType t, int head_dim, int head_dim_v, int warps, int block_n, int stages = 2) {
  ForwardConfig c = tile_config(t, head_dim, 16 * warps, block_n, warps, stages, 1);
  c.engine = ForwardEngine::kWgmma;
  c.head_dim_v = head_dim_v;
  return c;
}
constexpr ForwardConfig with_v(ForwardConfig c, int head_dim_v) {
  c.head_dim_v = head_dim_v;
  return c;
}
constexpr ForwardConfig packed(ForwardConfig c) {
  c.packs = true;
  return c;
}
constexpr ForwardConfig alibi(ForwardConfig c) {
  c.kind = ForwardKind::kAlibi;
  return c;
}
constexpr ForwardConfig biased(ForwardConfig c) {
  c.kind = ForwardKind::kBias;
  return c;
}
constexpr ForwardConfig general(ForwardConfig c, int column_warps = 1) {
  c.kind = ForwardKind::kGeneral;
  c.column_warps = column_warps;
  return c;
}

// Tall tiles feed each K and V fragment to two m16 tiles; short ones fill a GPU when there are few query rows, wide
// ones of them are passed through fastest when all run at once. Variants may spill a few bytes where they use all of a
// thread's registers: what the loop reads at most once a tile, at least as fast as the same variants with fewer
// held_steps, and what a trusting variant's second beginning keeps through the first.
inline constexpr ForwardVariant kAll[] = {
    {mma(kF16, 32, 128, 64, 4, 3, 0, 8, 2), kAmpereOn},
    {mma(kF16, 32, 64, 64, 4, 4, 2, 1, 2), kAmpereOn},
    {mma(kF16, 64, 128, 64, 4, 2, 3, 12, 2), kAmpereOn},
    {mma(kF16, 64, 64, 64, 4, 4, 4, 1, 2), kAmpereOn},
    {mma(kF16, 64, 64, 128, 4, 2, 4, 1, 4), kAmpereOn},
    {mma(kF16, 96, 128, 32, 4, 2, 3, 6), kAmpereOn},
    {mma(kF16, 96, 64, 64, 4, 3, 5, 24), kAmpereOn, 32},
    {mma(kF16, 128, 128, 32, 4, 2, 3), kAmpereOn, 40},
    {mma(kF16, 128, 64, 32, 4, 3, 8, 1, 2), kAmpereOn},
    {mma(kF16, 128, 64, 64, 4, 2, 7, 4, 2), kAmpereOn},
    {with_v(mma(kF16, 192, 128, 32, 4, 2, 3, 2), 128), kAmpereOn, 40},
    {with_v(mma(kF16, 192, 64, 32, 4, 2, 12, 2), 128), kAmpereOn},
    {mma(kF16, 160, 64, 32, 4, 3, 4, 20, 2), kAmpereOn, 8},
    {mma(kF16, 192, 64, 48, 4, 2, 11, 2), kAmpereOn},
    {mma(kF16, 256, 64, 32, 4, 2, 15, 2, 1), kAmpereOn, 16},
    {trusting(mma(kBF16, 32, 128, 64, 4, 3, 0, 8)), kAmpereOn, 16},
    {trusting(mma(kBF16, 32, 64, 64, 4, 4, 1, 2)), kAmpereOn},
    {trusting(mma(kBF16, 64, 128, 64, 4, 2, 4, 12)), kAmpereOn},
    {trusting(mma(kBF16, 64, 64, 64, 4, 4, 3)), kAmpereOn, 40},
    {trusting(mma(kBF16, 64, 64, 128, 4, 2, 3, 2)), kAmpereOn},
    {trusting(mma(kBF16, 96, 128, 32, 4, 2, 5, 4)), kAmpereOn},
    {trusting(mma(kBF16, 96, 64, 64, 4, 3, 5, 24)), kAmpereOn, 8},
    {trusting(mma(kBF16, 128, 128, 32, 4, 2, 3)), kAmpereOn, 56},
    {trusting(mma(kBF16, 128, 64, 32, 4, 3, 8)), kAmpereOn, 24},
    {trusting(mma(kBF16, 128, 64, 64, 4, 2, 7, 2)), kAmpereOn},
    {trusting(with_v(mma(kBF16, 192, 128, 32, 4, 2, 2), 128)), kAmpereOn, 56},
    {trusting(with_v(mma(kBF16, 192, 64, 32, 4, 2, 12), 128)), kAmpereOn},
    {mma(kBF16, 160, 64, 32, 4, 3, 4, 20, 2), kAmpereOn, 8},
    {trusting(mma(kBF16, 192, 64, 48, 4, 2, 11, 2)), kAmpereOn},
    {trusting(mma(kBF16, 256, 64, 32, 4, 2, 15, 4)), kAmpereOn, 32},
    {packed(mma(kF16, 64, 64, 128, 4, 2, 4, 1, 4)), kAmpereOn},
    {packed(mma(kF16, 128, 64, 64, 4, 2, 7, 4, 2)), kAmpereOn},
    {packed(trusting(mma(kBF16, 64, 64, 128, 4, 2, 3, 2))), kAmpereOn},
    {packed(trusting(mma(kBF16, 128, 64, 64, 4, 2, 7, 2))), kAmpereOn},
    {general(mma(kF16, 64, 64, 64, 4, 2)), kAmpereOn},
    {general(mma(kF16, 128, 64, 32, 4, 2)), kAmpereOn},
    {general(mma(kF16, 256, 64, 32, 4, 2)), kAmpereOn},
    {general(mma(kF16, 512, 32, 16, 4, 1), 2), kAmpereOn, 8},
    {general(mma(kBF16, 64, 64, 64, 4, 2)), kAmpereOn},
    {general(mma(kBF16, 128, 64, 32, 4, 2)), kAmpereOn},
    {general(mma(kBF16, 256, 64, 32, 4, 2)), kAmpereOn},
    {general(mma(kBF16, 512, 32, 16, 4, 1), 2), kAmpereOn, 8},
    {wgmma(kF16, 32, 32, 12, 128, 3), kHopper},
    {wgmma(kF16, 64, 64, 12, 128, 3), kHopper},
    {wgmma(kF16, 64, 64, 12, 80, 3), kHopper},
    {wgmma(kF16, 64, 64, 8, 128, 3), kHopper},
    {wgmma(kF16, 96, 96, 12, 96), kHopper},
    {wgmma(kF16, 96, 96, 8, 128, 3), kHopper},
    {wgmma(kF16, 128, 128, 8, 128), kHopper},
    {wgmma(kF16, 128, 128, 8, 80, 3), kHopper},
    {wgmma(kF16, 128, 128, 12, 80), kHopper},
    {wgmma(kF16, 160, 160, 8, 112), kHopper},
    {wgmma(kF16, 192, 128, 8, 128), kHopper},
    {wgmma(kF16, 192, 128, 8, 112), kHopper},
    {wgmma(kF16, 192, 192, 8, 96), kHopper},
    {wgmma(kF16, 224, 224, 8, 80), kHopper},
    {wgmma(kF16, 256, 256, 8, 80), kHopper},
    {wgmma(kF16, 256, 256, 8, 64), kHopper},
    {packed(wgmma(kF16, 32, 32, 8, 128, 3)), kHopper},
    {packed(wgmma(kF16, 64, 64, 8, 128, 3)), kHopper},
    {packed(wgmma(kF16, 128, 128, 8, 128)), kHopper},
    {wgmma(kF16, 32, 32, 16, 64, 8), kHopper},
    {wgmma(kF16, 32, 32, 16, 80, 7), kHopper},
    {wgmma(kF16, 64, 64, 16, 64, 8), kHopper},
    {wgmma(kF16, 128, 128, 12, 64, 4), kHopper},
    {general(wgmma(kF16, 32, 32, 12, 128, 3)), kHopper},
    {general(wgmma(kF16, 64, 64, 12, 128, 3)), kHopper},
    {general(wgmma(kF16, 128, 128, 8, 128)), kHopper},
    {general(wgmma(kF16, 256, 256, 8, 64)), kHopper},
    {alibi(wgmma(kF16, 32, 32, 12, 128, 3)), kHopper},
    {alibi(wgmma(kF16, 64, 64, 12, 128, 3)), kHopper},
    {alibi(wgmma(kF16, 128, 128, 8, 128)), kHopper},
    {biased(wgmma(kF16, 32, 32, 8, 128, 3)), kHopper},
    {biased(wgmma(kF16, 64, 64, 8, 128, 3)), kHopper},
    {biased(wgmma(kF16, 128, 128, 8, 128)), kHopper},
    {wgmma(kBF16, 32, 32, 12, 128, 3), kHopper},
    {wgmma(kBF16, 64, 64, 12, 128, 3), kHopper},
    {wgmma(kBF16, 64, 64, 12, 80, 3), kHopper},
    {wgmma(kBF16, 64, 64, 8, 128, 3), kHopper},
    {wgmma(kBF16, 96, 96, 12, 96), kHopper},
    {wgmma(kBF16, 96, 96, 8, 128, 3), kHopper},
    {wgmma(kBF16, 128, 128, 8, 128), kHopper},
    {wgmma(kBF16, 128, 128, 8, 80, 3), kHopper},
    {wgmma(kBF16, 128, 128, 12, 80), kHopper},
    {wgmma(kBF16, 160, 160, 8, 112), kHopper},
    {wgmma(kBF16, 192, 128, 8, 128), kHopper},
    {wgmma(kBF16, 192, 128, 8, 112), kHopper},
    {wgmma(kBF16, 192, 192, 8, 96), kHopper},
    {wgmma(kBF16, 224, 224, 8, 80), kHopper},
    {wgmma(kBF16, 256, 256, 8, 80), kHopper},
    {wgmma(kBF16, 256, 256, 8, 64), kHopper},
    {packed(wgmma(kBF16, 32, 32, 8, 128, 3)), kHopper},
    {packed(wgmma(kBF16, 64, 64, 8, 128, 3)), kHopper},
    {packed(wgmma(kBF16, 128, 128, 8, 128)), kHopper},
    {wgmma(kBF16, 32, 32, 16, 64, 8), kHopper},
    {wgmma(kBF16, 32, 32, 16, 80, 7), kHopper},
    {wgmma(kBF16, 64, 64, 16, 64, 8), kHopper},
    {wgmma(kBF16, 128, 128, 12, 64, 4), kHopper},
    {general(wgmma(kBF16, 32, 32, 12, 128, 3)), kHopper},
    {general(wgmma(kBF16, 64, 64, 12, 128, 3)), kHopper},
    {general(wgmma(kBF16, 128, 128, 8, 128)), kHopper},
    {general(wgmma(kBF16, 256, 256, 8, 64)), kHopper},
    {alibi(wgmma(kBF16, 32, 32, 12, 128, 3)), kHopper},
    {alibi(wgmma(kBF16, 64, 64, 12, 128, 3)), kHopper},
    {alibi(wgmma(kBF16, 128, 128, 8, 128)), kHopper},
    {biased(wgmma(kBF16, 32, 32, 8, 128, 3)), kHopper},
    {biased(wgmma(kBF16, 64, 64, 8, 128, 3)), kHopper},
    {biased(wgmma(kBF16, 128, 128, 8, 128)), kHopper},
    {mma(kF16, 32, 64, 64, 4, 2, 2), kTuring},
    {mma(kF16, 64, 64, 64, 4, 2, 4), kTuring},
    {mma(kF16, 128, 64, 32, 4, 1, 8), kTuring},
    {general(mma(kF16, 64, 64, 64, 4, 1)), kTuring},
    {general(mma(kF16, 128, 64, 32, 4, 1)), kTuring},
    {general(mma(kF16, 256, 64, 16, 4, 1)), kTuring},
};

}  // namespace forward_table

inline constexpr std::span<const ForwardVariant> kForwardVariants = forward_table::kAll;

}  // namespace flashfit
