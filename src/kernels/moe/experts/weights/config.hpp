#pragma once
// The product that gives gradients of weights: its compile-time configuration, and what that implies. Neutral: the plan
// takes shared memory from here without `arch`.
#include "core/base/types.hpp"

namespace flashfit {

/// One compiled form. A block computes tile_m by tile_n elements of one expert's gradient; its two warpgroups have half
/// of tile_m each. Slices of `depth` rows stream through a ring of `stages`.
struct WeightsProductConfig {
  DType dtype;
  int tile_m, tile_n, depth, stages;
  constexpr bool operator==(const WeightsProductConfig&) const = default;
};

inline constexpr int kWeightsGroups = 2;                               ///< warpgroups that multiply; one more copies
inline constexpr int kWeightsThreads = 128 * (1 + kWeightsGroups);     ///< of a block
inline constexpr int kWeightsStripe = 8;                               ///< tiles of m whose blocks run side by side
inline constexpr int kWeightsOutColumns = 64, kWeightsOutBuffers = 2;  ///< of a warp's epilogue, 16 rows each

/// The ring, each warp's epilogue buffers, and the stages' barriers with what aligns them.
constexpr int weights_product_shared_bytes(const WeightsProductConfig& c) {
  return (c.stages * (c.tile_m + c.tile_n) * c.depth +
          kWeightsGroups * 4 * kWeightsOutBuffers * 16 * kWeightsOutColumns) *
             size_of(c.dtype) +
         1024;
}

/// Why a configuration cannot be compiled, or nullptr.
constexpr const char* weights_product_config_error(const WeightsProductConfig& c) {
  if (c.dtype == DType::kF32) return "dtype must be fp16 or bf16";
  if (c.tile_m != 64 * kWeightsGroups) return "each warpgroup has 64 of tile_m";
  if (c.tile_n != 128 && c.tile_n != 256)
    return "tile_n must be 128 or 256: a warp's two places to leave from take turns";
  if (c.depth != 64) return "depth must be 64";
  if (c.stages < 3 || c.stages > 8) return "stages must be 3 to 8";
  return nullptr;
}

}  // namespace flashfit
