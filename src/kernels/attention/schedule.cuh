#pragma once
// Which rows a thread block computes.
#include "kernels/arch/arch.hpp"
#include "kernels/attention/forward_params.hpp"
#include "kernels/attention/mask.cuh"
#include "kernels/attention/tile_rows.cuh"

namespace flashfit {

/// One tile of query rows of one sequence and head. Rows and keys are those of the sequence; offsets say where it
/// begins on the row axes. Where heads are packed, `head` is the first of them, and first_row counts the rows of all
/// (tile_rows.cuh).
struct Work {
  int sequence, head, first_row;
  int queries, keys;
  int q_offset, k_offset;  ///< 0 when dense (the batch stride finds the sequence)

  /// Row 0 of this sequence and a head in a tensor with these strides.
  template <class T>
  T* row_of(T* g_base, int64 batch, int64 row, int64 head_stride, int of_head, int offset) const {
    return g_base + sequence * batch + offset * row + of_head * head_stride;
  }

  /// Index of a row on the axis of all sequences' rows, as partial results have it.
  int64 row_of_all(const ForwardParams& p, int row) const {
    return (p.cu_seqlens_q == nullptr ? int64{sequence} * p.seqlen_q : q_offset) + row;
  }
};

/// Which part of the keys is the block's.
inline int part_of_keys() { return arch::block().y; }

/// cu_seqlens[i], forced into [0, total]: device memory is not checked before a launch,
/// and a wrong value must not become a wild address.
inline int bounded_offset(const int* cu_seqlens, int i, int total) {
  return clamp(arch::load(cu_seqlens, i), 0, total);
}

/// Variable length: tiles of query rows are numbered by slots, of which sequence b owns those from
/// floor(cu_seqlens[b] / BlockM) + b on. That grows by at least ceil(length / BlockM) per sequence, so a block finds
/// its sequence by search, without max_seqlen, and at most one slot per sequence stays empty.
template <int BlockM>
int first_slot(int offset, int sequence) {
  return offset / BlockM + sequence;
}

/// The last sequence whose slots begin at or before this one. The lanes of a warp search together: each step loads up
/// to 32 offsets at once, so that few steps have to wait for memory.
template <int BlockM, bool Packs = false>
int find_sequence(const ForwardParams& p, int slot) {
  int low = 0, count = p.batch;  // it is one of low .. low + count - 1
  while (count > 1) {
    const int step = (count + 31) / 32, ahead = arch::lane() * step;
    const uint32 begun = arch::ballot(
        ahead < count &&
        first_slot<BlockM>(TileRows<Packs>::count(p, bounded_offset(p.cu_seqlens_q, low + ahead, p.seqlen_q)),
                           low + ahead) <= slot);
    const int skipped = (arch::count_bits(begun | 1) - 1) * step;
    low += skipped;
    count = count - skipped < step ? count - skipped : step;
  }
  return low;
}

/// The tile with number `block` of slots * heads. Those with no rows get queries = 0. Long (late) rows come first:
/// under a causal mask they take longest. All lanes of a warp call it together.
template <int BlockM, bool Packs = false>
Work find_work(const ForwardParams& p, int block) {
  using Rows = TileRows<Packs>;
  int tile = 0;
  Work w{};
  if (p.cu_seqlens_q == nullptr) {
    const int of_head = p.tiles.quotient(block);
    tile = block - of_head * p.tiles.by;
    const int first_head = of_head * Rows::heads(p);
    w.sequence = p.heads.quotient(first_head);
    w.head = first_head - w.sequence * p.heads.by;
    w.queries = p.seqlen_q;
    w.keys = p.seqlen_k;
  } else {
    const int first_head = block * Rows::heads(p);
    tile = p.heads.quotient(first_head);
    w.head = first_head - tile * p.heads.by;
    w.sequence = find_sequence<BlockM, Packs>(p, tile);
    w.q_offset = bounded_offset(p.cu_seqlens_q, w.sequence, p.seqlen_q);
    w.k_offset = bounded_offset(p.cu_seqlens_k, w.sequence, p.seqlen_k);
    w.queries = clamp(bounded_offset(p.cu_seqlens_q, w.sequence + 1, p.seqlen_q) - w.q_offset, 0, p.seqlen_q);
    w.keys = clamp(bounded_offset(p.cu_seqlens_k, w.sequence + 1, p.seqlen_k) - w.k_offset, 0, p.seqlen_k);
    tile -= first_slot<BlockM>(Rows::count(p, w.q_offset), w.sequence);
  }
  if (p.seqused_k != nullptr) w.keys = clamp(arch::load(p.seqused_k, w.sequence), 0, w.keys);
  const int tiles = (Rows::count(p, w.queries) + BlockM - 1) / BlockM;
  if (tile < 0 || tile >= tiles) w.queries = 0;
  w.first_row = (tiles - 1 - tile) * BlockM;
  return w;
}

/// Key tiles begin .. end - 1.
struct TileRange {
  int begin, end;
};

/// The tiles that hold keys first .. last, of those in the block's part.
inline TileRange tiles_of(const ForwardParams& p, int first, int last, int block_n) {
  const int end = last < first ? 0 : last / block_n + 1, begin = first / block_n;
  if (p.splits == 1) return {begin, end};
  const int low = part_of_keys() * p.split_tiles, high = part_of_keys() + 1 < p.splits ? low + p.split_tiles : end;
  return {begin > low ? begin : low, end < high ? end : high};
}

}  // namespace flashfit
