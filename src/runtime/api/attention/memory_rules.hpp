#pragma once
// What an attention call asks of memory: strides, alignment, and that nothing is written onto another tensor.
#include <array>

#include "runtime/api/attention/forward_tensors.hpp"

namespace flashfit::api {

/// Strides, and elements that share memory.
Result<void> check_layouts(const ForwardTensors& tensors);
/// Whether a row of q, k, v or out begins where 16 bytes cannot be copied at once.
bool is_unaligned(const ForwardTensors& tensors);
/// ForwardProblem::no_tensor_maps.
bool refuses_tensor_maps(const ForwardTensors& tensors);
/// That out and lse overlap no other tensor.
Result<void> check_overlaps(const ForwardTensors& tensors);
/// cu_seqlens of the rows of `rows`, by value: `cu` is in the CPU's memory.
Result<void> check_offsets(const Argument& cu, const Argument& rows);
/// seqused_k by value, after the offsets: all in the CPU's memory.
Result<void> check_used(const ForwardTensors& tensors);

/// All tensors of a call, for rules on their memory; those that are not given have none.
std::array<const Argument*, 11> all_of(const ForwardTensors& tensors);

}  // namespace flashfit::api
