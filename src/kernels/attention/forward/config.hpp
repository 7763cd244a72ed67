#pragma once
// The forward kernel's compile-time configuration, and what it implies.
// Neutral: the plan takes shared memory from here without `arch`.
#include "core/base/types.hpp"
#include "kernels/layout/swizzle_mode.hpp"

namespace flashfit {

/// What a row can do beside causal masks, windows, sinks, variable length and splits, which all can.
enum class ForwardKind : unsigned char {
  kPlain,
  kGeneral,  ///< softcap, ALiBi and bias; rows that begin anywhere, head_dims that are no multiples of 8 (over wgmma
             ///< softcap alone)
  kAlibi,    ///< ALiBi, over wgmma alone
  kBias,     ///< a bias, over wgmma alone
};

/// The opt-in limit of a block on 9.0 (CUDA C++ Programming Guide, "Technical Specifications per Compute Capability").
inline constexpr int kSharedBytesBlockHopper = 227 * 1024;

/// Which instructions multiply: each has a kernel of its own.
enum class ForwardEngine : unsigned char {
  kMma,    ///< mma.sync, by warps (forward.cuh)
  kWgmma,  ///< wgmma, by warpgroups, of tiles that TMA copies: 9.0a alone (wgmma/forward.cuh)
};

/// One compiled form of the forward kernel, for head_dims up to head_dim (of q and k) and head_dim_v (of v and out).
/// `warps` share block_m query rows: column_warps of them have the same rows, each its part of V's columns. K and V
/// tiles of block_n keys stream through a ring of `stages`; min_blocks is what __launch_bounds__ promises per SM.
/// The last held_steps of Q's head_dim / 16 k16 steps stay in registers, the others are read again for each tile.
/// Copies of a later tile are issued in copy_parts parts, one after each of as many groups of products. Weights of a
/// tile's first early_tiles * 8 keys are made before it is known whether their rows need other bases (softmax.cuh).
/// A trusting kernel tests only at the end whether bases should have moved, and if so computes its rows again.
/// A packing kernel has GQA packing: its rows are those of all query heads that share a KV head (tile_rows.cuh).
/// Over wgmma a warp has 16 rows; K and V have rings of their own; one more warpgroup copies; column_warps, held_steps,
/// copy_parts, early_tiles and trusting are 1, 0, 1, 0 and false.
struct ForwardConfig {
  ForwardEngine engine;
  DType dtype;
  int head_dim, head_dim_v, block_m, block_n, warps, stages, min_blocks;
  int column_warps, held_steps, copy_parts, early_tiles;
  bool trusting;
  ForwardKind kind;
  bool packs;
  constexpr bool operator==(const ForwardConfig&) const = default;
};

/// Whether it takes biases.
constexpr bool takes_biases(const ForwardConfig& c) {
  return c.kind == ForwardKind::kBias || (c.kind == ForwardKind::kGeneral && c.engine == ForwardEngine::kMma);
}

/// A plain form for q, k and v of one head_dim, with nothing tuned: "128x64, 4 warps, 2 stages".
constexpr ForwardConfig tile_config(DType dtype, int head_dim, int block_m, int block_n, int warps, int stages = 2,
                                    int min_blocks = 1) {
  return {.engine = ForwardEngine::kMma,
          .dtype = dtype,
          .head_dim = head_dim,
          .head_dim_v = head_dim,
          .block_m = block_m,
          .block_n = block_n,
          .warps = warps,
          .stages = stages,
          .min_blocks = min_blocks,
          .column_warps = 1,
          .held_steps = 0,
          .copy_parts = 1,
          .early_tiles = 0,
          .trusting = false,
          .kind = ForwardKind::kPlain,
          .packs = false};
}

constexpr int forward_threads(const ForwardConfig& c) {
  return c.warps * 32 + (c.engine == ForwardEngine::kWgmma ? 128 : 0);
}

/// How tiles of so many columns lie for TMA and wgmma: in the widest panels that divide them.
constexpr SwizzleMode panel_mode(int columns) { return columns % 64 == 0 ? SwizzleMode::k128B : SwizzleMode::k64B; }

/// Bytes of a tile of Q.
constexpr int forward_q_bytes(const ForwardConfig& c) { return c.block_m * c.head_dim * size_of(c.dtype); }
/// Bytes of Q's tile, and of the rings of K and V.
constexpr int forward_tile_bytes(const ForwardConfig& c) {
  return forward_q_bytes(c) + c.stages * c.block_n * (c.head_dim + c.head_dim_v) * size_of(c.dtype);
}
/// Q buffers. Over wgmma there are three if there is room: a tile of rows is computed, the output of the one before is
/// stored where its Q lay, and the next one's Q is copied.
constexpr int forward_q_buffers(const ForwardConfig& c) {
  return c.engine == ForwardEngine::kWgmma &&
                 forward_tile_bytes(c) + 2 * forward_q_bytes(c) + 1024 <= kSharedBytesBlockHopper
             ? 3
             : 1;
}
/// Bytes of the kernel's shared memory: Q and, per stage, K and V; over wgmma the stages' barriers and jobs in one more
/// of the pattern that tiles are aligned to. The kernels assert that it equals sizeof(Shared).
constexpr int forward_shared_bytes(const ForwardConfig& c) {
  if (c.engine == ForwardEngine::kMma) return forward_tile_bytes(c);
  return forward_tile_bytes(c) + (forward_q_buffers(c) - 1) * forward_q_bytes(c) +
         pattern_bytes(panel_mode(c.head_dim));
}

/// Why a configuration cannot be compiled, or nullptr: the rules of the kernel's shape,
/// the same for the build and for what-if.
constexpr const char* forward_config_error(const ForwardConfig& c) {
  if (c.dtype == DType::kF32) return "dtype must be fp16 or bf16";
  if (c.head_dim < 32 || c.head_dim > 512 || c.head_dim % 32) return "head_dim must be a multiple of 32 from 32 to 512";
  if (c.head_dim_v < 32 || c.head_dim_v > c.head_dim || c.head_dim_v % 32)
    return "head_dim_v must be a multiple of 32 from 32 to head_dim";
  if (c.warps < 1 || c.warps > 32) return "warps must be 1 to 32";
  if (c.column_warps < 1 || c.warps % c.column_warps) return "column_warps must divide warps";
  if (c.head_dim_v % (c.column_warps == 1 ? 32 : 64 * c.column_warps) || c.head_dim_v / c.column_warps > 256)
    return "a warp has at most 256 columns of V, in whole panels of 64 if they are shared";
  if (c.block_m < 16 || c.block_m * c.column_warps % (16 * c.warps))
    return "block_m must be a multiple of 16 rows for each warp";
  if (c.block_n < 16 || c.block_n % 16) return "block_n must be a multiple of 16";
  if (c.stages < 2 || c.stages > 8) return "stages must be 2 to 8";
  if (c.held_steps < 0 || c.held_steps > c.head_dim / 16) return "held_steps must be 0 to head_dim / 16";
  if (c.copy_parts < 1 || c.copy_parts > c.head_dim / 16 * (c.block_n / 16))
    return "copy_parts must be 1 to the groups of products, head_dim / 16 * (block_n / 16)";
  if (c.early_tiles < 0 || c.early_tiles > c.block_n / 8) return "early_tiles must be 0 to block_n / 8";
  if (c.engine == ForwardEngine::kWgmma) {
    if (c.warps != 8 && c.warps != 12) return "wgmma takes 8 or 12 warps: two or three warpgroups";
    if (c.block_m != 16 * c.warps) return "over wgmma a warp has 16 rows";
    if (c.head_dim > 256) return "over wgmma head_dim is at most 256";
    if (c.column_warps != 1 || c.held_steps != 0 || c.copy_parts != 1 || c.early_tiles != 0 || c.trusting)
      return "column_warps, held_steps, copy_parts, early_tiles and trusting are not wgmma's";
  }
  if (c.engine != ForwardEngine::kWgmma && (c.kind == ForwardKind::kAlibi || c.kind == ForwardKind::kBias))
    return "a kernel for ALiBi or a bias alone is wgmma's";
  if (c.packs && c.kind != ForwardKind::kPlain) return "packs is of plain kernels";
  if (c.trusting && (c.dtype != DType::kBF16 || c.kind != ForwardKind::kPlain))
    return "trusting needs bf16, whose weights have fp32's range, and a plain kernel";
  return nullptr;
}

}  // namespace flashfit
