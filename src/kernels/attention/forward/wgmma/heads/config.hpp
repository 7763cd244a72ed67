#pragma once
// Which forward configurations over wgmma are of the kernel whose blocks take whole heads. Neutral: the plan uses it,
// too.
#include "kernels/attention/forward/config.hpp"
#include "kernels/attention/forward/wgmma/tile_columns.hpp"

namespace flashfit {

/// Warpgroups that each have rows of their own need rings of many short tiles, the others of two or three.
constexpr bool takes_heads(const ForwardConfig& c) { return c.engine == ForwardEngine::kWgmma && c.stages >= 4; }

/// Why a configuration of any forward kernel cannot be compiled, or nullptr. Blocks that take heads may have four
/// warpgroups.
constexpr const char* config_error_of(ForwardConfig c) {
  if (takes_heads(c) && c.warps == 16 && c.block_m == 256) c.warps = 8, c.block_m = 128;
  return forward_config_error(c);
}

/// Query rows of a warpgroup, and of a warp, which copies its own.
inline constexpr int kWarpgroupRows = 64, kWarpRows = 16;

/// Q buffers: as many as there is room for, at most three.
constexpr int heads_q_buffers(const ForwardConfig& c) {
  const int room = kSharedBytesBlockHopper - 1024 - forward_tile_bytes(c);
  return room < forward_q_bytes(c) ? 1 : room < 2 * forward_q_bytes(c) ? 2 : 3;
}
/// Bytes of shared memory of a block of any forward kernel.
constexpr int shared_bytes_of(const ForwardConfig& c) {
  if (c.engine == ForwardEngine::kMma) return forward_shared_bytes(c);
  if (!takes_heads(c)) return forward_shared_bytes(with_tile_columns(c));
  return forward_tile_bytes(c) + (heads_q_buffers(c) - 1) * forward_q_bytes(c) + pattern_bytes(panel_mode(c.head_dim));
}

}  // namespace flashfit
