#pragma once
// The forward kernel's compile-time configuration, and what it implies.
// Neutral: the plan takes shared memory from here without `arch`.
#include "base/types.hpp"

namespace flashfit {

/// One compiled form of the forward kernel. `warps` each own block_m / warps query rows; K and V tiles of block_n keys
/// stream through a ring of `stages` slots; min_blocks is what __launch_bounds__ promises per SM.
struct ForwardConfig {
  DType dtype;
  int head_dim, block_m, block_n, warps, stages, min_blocks;
  constexpr bool operator==(const ForwardConfig&) const = default;
};

constexpr int forward_threads(const ForwardConfig& c) { return c.warps * 32; }

/// Bytes of the kernel's shared memory: Q once, K and V per stage. forward.cuh asserts that it equals sizeof(Shared).
constexpr int forward_shared_bytes(const ForwardConfig& c) {
  return (c.block_m + 2 * c.stages * c.block_n) * c.head_dim * size_of(c.dtype);
}

/// Why a configuration cannot be compiled, or nullptr: the rules of the kernel's shape,
/// the same for the build and for what-if.
constexpr const char* forward_config_error(const ForwardConfig& c) {
  if (c.dtype == DType::kF32) return "dtype must be fp16 or bf16";
  if (c.head_dim < 32 || c.head_dim > 256 || c.head_dim % 32) return "head_dim must be a multiple of 32 from 32 to 256";
  if (c.warps < 1 || c.warps > 32) return "warps must be 1 to 32";
  if (c.block_m < 16 || c.block_m % (16 * c.warps)) return "block_m must be a multiple of 16 rows for each warp";
  if (c.block_n < 16 || c.block_n % 16) return "block_n must be a multiple of 16";
  if (c.stages < 2 || c.stages > 8) return "stages must be 2 to 8";
  return nullptr;
}

/// The kernel's one argument. Pointers and strides are of elements, strides 64-bit; rows are tokens.
/// Sequence b: dense, rows of its own at b * batch stride; variable length, rows cu_seqlens[b] ..
/// cu_seqlens[b + 1] of one long row axis.
struct ForwardParams {
  const void *q, *k, *v;
  void* o;
  float* lse;  ///< natural log, or nullptr
  const int *cu_seqlens_q,
      *cu_seqlens_k;  ///< batch + 1 offsets, or nullptr when dense; need not be trusted: clamped to total_*
  long long q_batch, q_row, q_head, k_batch, k_row, k_head, v_batch, v_row, v_head, o_batch, o_row, o_head;
  long long lse_batch, lse_head;  ///< elements; rows are dense
  int batch, heads, group;        ///< group = query heads per key-value head
  int seqlen_q, seqlen_k;         ///< dense: rows of a sequence; variable length: all rows (total_q, total_k)
  int slots;                      ///< blocks per head: the grid is slots * heads
  int causal;                     ///< 1: bottom-right aligned
  float softmax_scale;            ///< > 0
};

}  // namespace flashfit
