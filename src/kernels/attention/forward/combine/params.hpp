#pragma once
// The kernel that makes one output of the parts that keys were cut in: its configuration and its argument. Neutral:
// plan, kernel and emulator share it.
#include "core/base/divisor.hpp"
#include "core/base/types.hpp"

namespace flashfit {

struct CombineConfig {
  DType dtype;  ///< of the output
  constexpr bool operator==(const CombineConfig&) const = default;
};

inline constexpr int kMostParts = 64;        ///< of a sequence's keys: a lane weighs two of them
inline constexpr int kCombineWarps = 8;      ///< of a block
inline constexpr int kCombineColumns = 128;  ///< of a block: a lane has four
inline constexpr int kPartsOfAWarp = 8;      ///< at most, all of which a lane reads at once
inline constexpr int kFewPartsOfAWarp = 4;   ///< a row with more than these for each warp gets more warps

/// log2 of the warps that share a row of `parts`. It depends on nothing else, so that a row's sum has one order
/// whatever the other rows are.
constexpr int combining_warps_log2(int parts) {
  int log2 = 0;
  while ((1 << log2) < kCombineWarps && parts > (kFewPartsOfAWarp << log2)) ++log2;
  return log2;
}
static_assert((kPartsOfAWarp << combining_warps_log2(kMostParts)) >= kMostParts);

/// The kernel's one argument. Strides are of elements. A row is that of a query and a head: query row r of all
/// sequences, head h is row r * heads + h.
struct CombineParams {
  const float* partial_o;    ///< [parts, rows, columns]
  const float* partial_lse;  ///< [parts, rows], in units of log2
  int parts;                 ///< 2 .. kMostParts
  int warps_log2;            ///< combining_warps_log2(parts)
  int rows;                  ///< below 2^31 - kCombineWarps
  int columns;               ///< of a part, a multiple of 4
  void* o;
  float* lse;  ///< natural log, or nullptr
  long long o_batch, o_row, o_head, lse_batch, lse_head;
  int head_dim_v;           ///< columns of the output, at most `columns`
  Divisor heads;            ///< of a query
  Divisor queries;          ///< dense: of a sequence; variable length: of all
  const int* cu_seqlens_q;  ///< batch + 1 offsets, or nullptr when dense: rows from the last one on are no sequence's
  int batch;
  const float* sinks;  ///< heads logits, or nullptr
};

}  // namespace flashfit
