#pragma once
// GQA packing of decodes with one query a sequence: the query heads that share a KV head become the rows of one tile,
// so that keys and values are read once for all of them. (With more queries, and with options that differ between
// heads, the kernel does the packing: tile_rows.cuh.) Host only.
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Whether a problem's heads become rows: one query row, several heads a group, and no option that differs between rows
/// or heads. For the plan alone.
bool packs_heads(const ForwardProblem& problem);

/// The same problem with heads_kv heads and a row for each query head of a group.
ForwardProblem pack_heads(const ForwardProblem& problem);

/// The same call: other strides, the same memory.
ForwardCall pack_heads(const ForwardCall& call);

}  // namespace flashfit
