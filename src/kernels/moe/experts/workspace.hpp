#pragma once
// How the GPU's kernels lay out their workspace: a function of the problem alone, so that a call allocates nothing and
// a CUDA graph may replay it with other counts. Neutral.
#include "kernels/moe/experts/problem.hpp"

namespace flashfit {

/// Byte offsets, each a multiple of 256.
struct ExpertsWorkspace {
  int64 counts;      ///< int [chunks, owned]: choices of each expert in each chunk of kSortChunk
  int64 choices;     ///< int [rows]: the choice (token * top_k + k) that lies in this row
  int64 places;      ///< int [rows]: the row of this choice; -1: its expert is not owned
  int64 tiles;       ///< ExpertTile [most_tiles]
  int64 tile_count;  ///< int: of those, how many there are
  int64 taken;       ///< int [2]: of each product's tiles, those that blocks have taken
  int64 summing;     ///< int [2 kMostPhases]: ExpertsSumUnits::taken, then ::stored
  int64 h;           ///< dtype [rows, intermediate]
  int64 y;           ///< dtype [rows, hidden]
  int64 bytes;       ///< of all
};

constexpr int64 sort_chunks(const ExpertsProblem& p) { return (p.rows() + kSortChunk - 1) / kSortChunk; }

/// At most so many tiles of `tile_rows` rows, however tokens choose.
constexpr int64 most_tiles(const ExpertsProblem& p, int tile_rows) {
  const int64 begun = p.rows() < p.owned() ? p.rows() : p.owned();
  return (p.rows() - begun) / tile_rows + begun;
}

constexpr ExpertsWorkspace experts_workspace(const ExpertsProblem& p) {
  ExpertsWorkspace w{};
  int64 at = 0;
  const auto part = [&](int64 bytes) {
    const int64 begin = at;
    at += (bytes + 255) / 256 * 256;
    return begin;
  };
  w.counts = part(sort_chunks(p) * p.owned() * 4);
  w.choices = part(p.rows() * 4);
  w.places = part(p.rows() * 4);
  w.tiles = part(most_tiles(p, kFewestTileRows) * int64(sizeof(ExpertTile)));
  w.tile_count = part(4);
  w.taken = part(8);
  w.summing = part(2 * kMostPhases * 4);
  w.h = part(p.rows() * p.intermediate * size_of(p.dtype));
  w.y = part(p.rows() * p.hidden * size_of(p.dtype));
  w.bytes = at;
  return w;
}

/// What a call on a GPU needs: 0 without tokens.
constexpr int64 workspace_bytes(const ExpertsProblem& p) { return p.rows() == 0 ? 0 : experts_workspace(p).bytes; }

}  // namespace flashfit
