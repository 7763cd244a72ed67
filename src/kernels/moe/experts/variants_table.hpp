#pragma once
// The experts' tables of variants, for who must see them at compile time: tests that instantiate all kernels. Others
// take experts_rows_variants() and experts_product_variants().
#include "kernels/moe/experts/variants.hpp"

namespace flashfit {
namespace experts_tables {

using enum Target::Kind;

// 8.0's machine code runs on 8.6 and 8.9 too. PTX of the oldest target runs on what comes after every machine code.
inline constexpr Target kTuringOn[] = {{75, kSass}, {80, kSass}, {90, kSass}, {100, kSass}, {120, kSass}, {75, kPtx}};
inline constexpr Target kAmpereOn[] = {{80, kSass}, {90, kSass}, {100, kSass}, {120, kSass}, {80, kPtx}};

// With 227 KB of shared memory an SM.
inline constexpr Target kDataCentre[] = {{90, kSass}, {100, kSass}};
// wide() was measured on an H100 alone, where it is faster than large(). Other targets with room for its 96 KB do
// without until it is measured there.
inline constexpr Target kWide[] = {{90, kSass}};
inline constexpr Target kHopper[] = {{90, kSass, TargetScope::kArchitecture}};

inline constexpr ExpertsRowsVariant kRows[] = {{{DType::kF16}, kTuringOn}, {{DType::kBF16}, kAmpereOn}};

// 48 KB, so that two blocks share an SM from 8.0 on: one multiplies while the other begins or ends a tile.
constexpr ExpertsProductConfig large(DType t) {
  return {.engine = ExpertsEngine::kMma,
          .dtype = t,
          .tile_rows = 128,
          .tile_columns = 128,
          .depth = 32,
          .row_warps = 2,
          .column_warps = 2,
          .stages = 3,
          .min_blocks = 2,
          .transposed = false,
          .keeps = false};
}
// A quarter less from L2 for each product, by one block an SM: faster on an H100 from a few waves of tiles on.
constexpr ExpertsProductConfig wide(DType t) {
  ExpertsProductConfig c = large(t);
  c.tile_columns = 256;
  c.column_warps = 4;
  c.stages = 4;
  c.min_blocks = 1;
  return c;
}
// Few rows an expert: bound by reading weights, so small slices of many blocks are in flight.
constexpr ExpertsProductConfig small(DType t, int stages) {
  return {.engine = ExpertsEngine::kMma,
          .dtype = t,
          .tile_rows = 16,
          .tile_columns = 64,
          .depth = 64,
          .row_warps = 1,
          .column_warps = 4,
          .stages = stages,
          .min_blocks = stages > 4 ? 2 : 4,
          .transposed = false,
          .keeps = false};
}

// Four stages of 50 KB, the epilogue's buffers and pieces of y: nearly all of what a block may have on 9.0. 144 rows:
// an expert of DeepSeek-V3 has 256 on the average: nearly always two tiles.
constexpr ExpertsProductConfig hopper(DType t, bool transposed, bool keeps) {
  return {.engine = ExpertsEngine::kWgmma,
          .dtype = t,
          .tile_rows = 144,
          .tile_columns = 256,
          .depth = 64,
          .row_warps = 1,
          .column_warps = 8,
          .stages = 4,
          .min_blocks = 1,
          .transposed = transposed,
          .keeps = keeps};
}

// Three warpgroups with 64 outputs each, where tiles of 256 outputs would leave too many without use. Of more rows
// ptxas would want more registers than the 128 a thread that a launch begins with.
constexpr ExpertsProductConfig hopper_three(DType t, bool transposed) {
  return {.engine = ExpertsEngine::kWgmma,
          .dtype = t,
          .tile_rows = 192,
          .tile_columns = 192,
          .depth = 64,
          .row_warps = 1,
          .column_warps = 12,
          .stages = 4,
          .min_blocks = 1,
          .transposed = transposed,
          .keeps = false};
}

inline constexpr ExpertsProductVariant kProducts[] = {
    {large(DType::kF16), kTuringOn},
    {small(DType::kF16, 4), kTuringOn},
    {large(DType::kBF16), kAmpereOn},
    {small(DType::kBF16, 4), kAmpereOn},
    {hopper(DType::kF16, false, false), kHopper},
    {hopper(DType::kBF16, false, false), kHopper},
    {hopper(DType::kF16, false, true), kHopper},
    {hopper(DType::kBF16, false, true), kHopper},
    {hopper(DType::kF16, true, false), kHopper},
    {hopper(DType::kBF16, true, false), kHopper},
    {hopper(DType::kF16, true, true), kHopper},
    {hopper(DType::kBF16, true, true), kHopper},
    {hopper_three(DType::kF16, false), kHopper},
    {hopper_three(DType::kBF16, false), kHopper},
    {hopper_three(DType::kF16, true), kHopper},
    {hopper_three(DType::kBF16, true), kHopper},
    {small(DType::kF16, 8), kDataCentre},
    {small(DType::kBF16, 8), kDataCentre},
    {wide(DType::kF16), kWide},
    {wide(DType::kBF16), kWide},
};

}  // namespace experts_tables

inline constexpr std::span<const ExpertsRowsVariant> kExpertsRowsVariants = experts_tables::kRows;
inline constexpr std::span<const ExpertsProductVariant> kExpertsProductVariants = experts_tables::kProducts;

}  // namespace flashfit
