#pragma once
// What bounds the experts' problems, and how their kernels cut them. Neutral: kernels include this.

namespace flashfit {

inline constexpr int kMostExperts = 512;  ///< of a layer, on whatever backend
inline constexpr int kMostChosen = 16;    ///< experts of a token

/// What a block of the grouped products needs to know of some rows of one expert, which lie together once sorted.
struct alignas(16) ExpertTile {
  int expert;      ///< from `low` on counted from 0
  int first_tile;  ///< the expert's first tile
  int first_row;   ///< the expert's first row
  int rows;        ///< the expert's rows
};

inline constexpr int kSortChunk = 2048;  ///< choices that one block sorts
// Over wgmma the second product may compute outputs in phases, whose tiles are of so many (wgmma/token_sums.cuh).
inline constexpr int kMostPhases = 8, kPhaseColumns = 256;
inline constexpr int kSumColumns = 512;     ///< of a token, that a warp adds up at a time
inline constexpr int kFewestTileRows = 16;  ///< no kernel's tile has fewer rows

}  // namespace flashfit
