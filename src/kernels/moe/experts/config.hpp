#pragma once
// The experts' kernels: compile-time configurations, and what they imply. Neutral: the plan takes shared memory from
// here without `arch`.
#include "core/base/types.hpp"
#include "kernels/moe/experts/limits.hpp"

namespace flashfit {

/// One compiled form of the kernel that sorts choices by expert, and adds up what the experts gave (rows.cuh).
struct ExpertsRowsConfig {
  DType dtype;
  constexpr bool operator==(const ExpertsRowsConfig&) const = default;
};

inline constexpr int kRowsThreads = 256, kRowsWarps = kRowsThreads / 32;

/// Outputs that a block adds up of one token whose choices are not sorted.
inline constexpr int kSumOneColumns = kRowsWarps * kPhaseColumns;

/// Counts of each warp, and where the rows and the tiles of each expert begin.
constexpr int experts_rows_shared_bytes() { return ((kRowsWarps + 2) * kMostExperts + 2 + 2 * kRowsWarps) * 4; }

/// Which instructions multiply: each has a kernel of its own.
enum class ExpertsEngine : unsigned char {
  kMma,    ///< mma.sync, by warps (product.cuh)
  kWgmma,  ///< wgmma, by warpgroups, of weights that TMA copies: 9.0a alone (wgmma/product.cuh)
};

/// One compiled form of the grouped product. A block computes tile_rows rows of one expert by tile_columns outputs;
/// with a gate half of these are gate's and half up's. Slices of `depth` stream through a ring of `stages`. Its
/// warps share the tile: row_warps down, column_warps along the outputs. Over wgmma one more warpgroup copies.
/// `transposed`: over wgmma, of weights whose outputs are contiguous, not the depth; mma.sync's forms take both.
/// `keeps`: it can also write what the first product gives before the activation, which gradients need. A form of its
/// own: plain calls must not fetch the instructions.
struct ExpertsProductConfig {
  ExpertsEngine engine;
  DType dtype;
  int tile_rows, tile_columns, depth, row_warps, column_warps, stages, min_blocks;
  bool transposed, keeps;
  constexpr bool operator==(const ExpertsProductConfig&) const = default;
};

constexpr int experts_product_threads(const ExpertsProductConfig& c) {
  return c.row_warps * c.column_warps * 32 + (c.engine == ExpertsEngine::kWgmma ? 128 : 0);
}

constexpr int experts_ring_bytes(const ExpertsProductConfig& c) {
  return c.stages * (c.tile_rows + c.tile_columns) * c.depth * size_of(c.dtype);
}
/// Over wgmma: how many warpgroups multiply.
constexpr int experts_product_groups(const ExpertsProductConfig& c) { return c.column_warps / 4; }
/// Over wgmma: how many times 64 outputs each of these warpgroups computes, 64 being the m of one wgmma.
constexpr int experts_runs(const ExpertsProductConfig& c) { return c.tile_columns / 64 / experts_product_groups(c); }
/// Over wgmma a warpgroup's epilogue buffer has so many rows of 64 outputs, and results go through it in several parts:
/// about a third of a tile's rows, or a fourth where three warpgroups share the room that there is.
constexpr int experts_epilogue_rows(const ExpertsProductConfig& c) {
  const int parts = experts_product_groups(c) + 1;
  return (c.tile_rows / 16 + parts - 1) / parts * 16;
}
/// Over wgmma a tile's rows follow the expert's in steps of so many, which is what TMA copies at a time.
inline constexpr int kExpertsStep = 16;
/// Over wgmma the producer thread's warpgroup has so many other warps, which gather rows, or add up tokens' sums from
/// rings of so many pieces.
inline constexpr int kExpertsIdleWarps = 3, kSumStages = 4;
/// Bytes of the ring. Over wgmma each warpgroup has an epilogue buffer of 64 outputs, too; then there are the idle
/// warps' rings, and barriers take another 1,024 bytes with what aligns them.
constexpr int experts_product_shared_bytes(const ExpertsProductConfig& c) {
  if (c.engine == ExpertsEngine::kMma) return experts_ring_bytes(c);
  return experts_ring_bytes(c) + experts_product_groups(c) * experts_epilogue_rows(c) * 64 * size_of(c.dtype) +
         kExpertsIdleWarps * kSumStages * kSumColumns * size_of(c.dtype) + 1024;
}

/// Whether idle warps can take tokens' sums (wgmma/token_sums.cuh), in tiles of kPhaseColumns outputs.
constexpr bool experts_sums(const ExpertsProductConfig& c) {
  return c.engine == ExpertsEngine::kWgmma && c.tile_columns == kPhaseColumns;
}

/// Whether it can compute one token's choices without a sort: each choice is a tile of one row, so tiles are small.
constexpr bool experts_finds_choices(const ExpertsProductConfig& c) {
  return c.engine == ExpertsEngine::kMma && c.tile_rows == kFewestTileRows;
}

/// The granule of useless work: rows that a warp multiplies, or leaves out if it has none of the expert's; over wgmma a
/// tile's rows follow the expert's in steps.
constexpr int experts_product_granule(const ExpertsProductConfig& c) {
  return c.engine == ExpertsEngine::kWgmma ? kExpertsStep : c.tile_rows / c.row_warps;
}

/// Why a configuration cannot be compiled, or nullptr.
constexpr const char* experts_product_config_error(const ExpertsProductConfig& c) {
  if (c.dtype == DType::kF32) return "dtype must be fp16 or bf16";
  if (c.stages < 2 || c.stages > 8) return "stages must be 2 to 8";
  if (c.engine == ExpertsEngine::kWgmma) {
    if (c.row_warps != 1 || (c.column_warps != 8 && c.column_warps != 12))
      return "over wgmma two or three warpgroups share the outputs";
    if (c.tile_columns != (c.column_warps == 8 ? 256 : 192))
      return "over wgmma each of two warpgroups has twice 64 outputs, each of three has 64";
    if (c.tile_rows % 16 || c.tile_rows < 16 || c.tile_rows > 192)
      return "over wgmma tile_rows must be a multiple of 16 from 16 to 192";
    if (c.column_warps != 8 && c.keeps) return "over wgmma three warpgroups do not keep";
    if (c.depth != 64 || c.stages < 3) return "over wgmma depth must be 64, and stages at least 3";
    return nullptr;
  }
  if (c.transposed) return "over mma.sync each form takes transposed weights";
  if (c.keeps) return "over mma.sync no form keeps what is there before the activation";
  if (c.row_warps < 1 || c.column_warps < 1 || c.row_warps * c.column_warps > 32) return "warps must be 1 to 32";
  if (c.tile_rows < kFewestTileRows || c.tile_rows % (16 * c.row_warps))
    return "tile_rows must be a multiple of 16 for each warp along the rows, and at least kFewestTileRows";
  if (c.tile_columns % (16 * c.column_warps) || c.tile_columns % 64)
    return "tile_columns must be a multiple of 64, and of 8 of gate and 8 of up for each warp along the outputs";
  if (c.tile_columns / c.column_warps > 16 && c.tile_columns / c.column_warps % 32)
    return "a warp has 8 of gate and 8 of up, or multiples of 16 of both";
  if (c.depth != 32 && c.depth != 64) return "depth must be 32 or 64";
  const int threads = experts_product_threads(c);
  const int at_once = threads / (c.depth / 8), k_at_once = threads / 8;
  if (at_once % 8 || c.tile_rows % at_once || c.tile_columns / 2 % at_once)
    return "each pass of copies must be of whole rows of the swizzle's pattern, and all passes the tile";
  if (k_at_once % 8 || c.depth % k_at_once)
    return "each pass of copies of transposed weights must be of whole rows of the swizzle's pattern";
  return nullptr;
}

}  // namespace flashfit
