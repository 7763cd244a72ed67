#pragma once
// The argument of the forward's kernels over wgmma. Neutral: kernels and hosts share it.
#include "core/base/divisor.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/layout/tensor_map.hpp"

namespace flashfit {

/// In which order blocks take tiles of query rows.
enum class WorkOrder : unsigned char {
  kAsNumbered,  ///< head after head (schedule.cuh): they cost about the same
  /// The longest first, whatever their head: all blocks end together. For heads whose keys and values stay in L2.
  kLongestFirst,
  /// Head after head, a long tile and then a short one, which together cost what all such pairs do: few heads at a time
  /// are in L2.
  kPairs,
};

/// What a tensor map of q, k or v has as dimensions, innermost first: columns, rows, heads, sequences (one of them,
/// with all rows, where the length varies). Boxes are one panel of a tile wide.
struct WgmmaForwardParams {
  TensorMap q, k, v;
  ForwardParams forward;
  float scale_log2;  ///< a product of q and k times this is a score in units of log2
  int works;         ///< tiles of query rows: slots * heads, which the blocks share
  WorkOrder order;
  Divisor all_heads;  ///< of all sequences
  Divisor pairs;      ///< of a head's tiles, the odd one with itself
};

}  // namespace flashfit
