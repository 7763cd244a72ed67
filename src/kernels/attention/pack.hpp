#pragma once
// Decoding with grouped heads: the query heads that share a key-value head become the rows of one tile, so that keys
// and values are read once for all of them. Host only.
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// Whether a call's heads may become rows: one query row, several heads a group, and no option that tells rows or heads
/// apart.
bool packs_heads(const ForwardCall& call);

/// The same call with heads_kv heads and a row for each query head of a group: other strides, the same memory.
ForwardCall pack_heads(const ForwardCall& call);

/// The same for the problem alone, if its sinks are unknown or none.
bool packs_heads(const ForwardProblem& problem);
ForwardProblem pack_heads(const ForwardProblem& problem);

}  // namespace flashfit
