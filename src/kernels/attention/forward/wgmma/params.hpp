#pragma once
// The argument of the forward's kernels over wgmma. Neutral: kernels and hosts share it.
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/head_start.hpp"
#include "kernels/attention/forward/wgmma/heads/config.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/layout/tensor_map.hpp"

namespace flashfit {

/// In which order blocks take tiles of query rows.
enum class WorkOrder : unsigned char {
  /// As schedule.cuh numbers them. Of sequences of one length: head after head, the longest of each first. Else the
  /// longest of a sequence first, whatever their head.
  kAsNumbered,
  /// Of sequences of different lengths: head after head of a sequence, so that blocks that run at the same time share
  /// keys.
  kByHead,
  /// The longest first, whatever their head: all blocks end together. For heads whose keys and values stay in L2.
  kLongestFirst,
  /// Head after head, a long tile and then a short one, which together cost what all such pairs do: few heads at a time
  /// are in L2. The tiles of the last one to two waves come longest first, so that all blocks end together.
  kPairsThenLongest,
};

/// Whether a variant has split-KV. General ones of wide rows, which have softcap, would spill; with ALiBi or a bias it
/// was not tried; those whose blocks take whole heads are for many rows of few keys.
constexpr bool takes_parts(const ForwardConfig& c) {
  if (takes_heads(c) || has_wide_tiles(c)) return false;
  if (c.engine != ForwardEngine::kWgmma || c.kind == ForwardKind::kPlain) return true;
  return c.kind == ForwardKind::kGeneral && c.head_dim_v <= 192;
}

/// What a tensor map of q, k or v has as dimensions, innermost first: columns, rows, heads, sequences (one of them,
/// with all rows, where the length varies); that of a packing kernel's q: columns, heads, rows, sequences. Boxes are
/// one panel of a tile wide.
struct WgmmaForwardParams {
  TensorMap q, k, v;
  ForwardParams forward;
  float scale_log2;  ///< a product of q and k, with softcap its tanh in units of kTanhUnit, times this is in log2
  int works;         ///< tiles of query rows: slots * heads / pack, which the blocks of each part of the keys share
  WorkOrder order;
  int all_heads;  ///< of all sequences; packs of them where they are packed
  /// In the workspace, 0 before the launch: a counter of the tiles that blocks have taken beyond the first of each.
  /// nullptr: a static schedule, which is as good where all tiles' costs are known.
  int* taken;
  HeadStart start;  ///< of k and v; q is copied and the output moved as they are
  float softcap_x;  ///< with softcap, a product of q and k times this is x of tanh(x ln 2 / 2)
};

}  // namespace flashfit
