#pragma once
// What the rows of a tile are. Most kernels have one head's queries. Those with GQA packing have the queries of all
// heads that share a KV head, so that few queries fill a tile and a block reads the keys once for all of these heads.
// Heads are innermost, so that later rows see later keys, as those of one head do.
#include "kernels/attention/forward_params.hpp"

namespace flashfit {

/// Row r is query r of the block's head.
template <bool Packs>
struct TileRows {
  static int heads(const ForwardParams&) { return 1; }  ///< of a block
  static int count(const ForwardParams&, int queries) { return queries; }
  static bool has(int row, int queries, const ForwardParams&) { return row < queries; }
  static int query(const ForwardParams&, int row) { return row; }
  static int head(const ForwardParams&, int first_head, int) { return first_head; }
};

/// Row r is query r / n of head first_head + r % n, of n = p.group heads.
template <>
struct TileRows<true> {
  static int heads(const ForwardParams& p) { return p.group.by; }
  static int count(const ForwardParams& p, int queries) { return queries * p.group.by; }
  static bool has(int row, int queries, const ForwardParams& p) { return row < count(p, queries); }
  static int query(const ForwardParams& p, int row) { return p.group.quotient(row); }
  static int head(const ForwardParams& p, int first_head, int row) {
    return first_head + row - query(p, row) * p.group.by;
  }
};

}  // namespace flashfit
