#pragma once
// Decoding with grouped heads, one query each: the query heads that share a key-value head become the rows of one tile,
// so that keys and values are read once for all of them. (More queries, and options that tell heads apart, take a
// kernel that packs: tile_rows.cuh.) Host only.
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Whether a problem's heads become rows: one query row, several heads a group, and no option that tells rows or heads
/// apart. The plan asks, and nobody else.
bool packs_heads(const ForwardProblem& problem);

/// The same problem with heads_kv heads and a row for each query head of a group.
ForwardProblem pack_heads(const ForwardProblem& problem);

/// The same call: other strides, the same memory.
ForwardCall pack_heads(const ForwardCall& call);

}  // namespace flashfit
