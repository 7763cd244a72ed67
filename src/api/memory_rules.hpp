#pragma once
// What an attention call asks of memory: strides, alignment, and that nothing is written onto another tensor.
#include "api/forward_tensors.hpp"

namespace flashfit::api {

/// Strides, elements that share memory, and what kernels ask of addresses on a GPU.
Result<void> check_layouts(const ForwardTensors& tensors);
/// That out and lse overlap no other tensor.
Result<void> check_overlaps(const ForwardTensors& tensors);
/// cu_seqlens of the rows of `rows`, by value: `cu` is in the CPU's memory.
Result<void> check_offsets(const Argument& cu, const Argument& rows);

/// What the caller gave, and the tensors that it may not overlap.
struct Workspace {
  void* data = nullptr;
  std::uint64_t bytes = 0;
  struct Memory {
    const char* name = "";
    std::uintptr_t begin = 0, end = 0;
  };
  std::array<Memory, 7> tensors;  ///< filled if data is given
};

Workspace workspace_of(const flashfit_attention_args& args, const ForwardTensors& tensors);
/// Whether it serves a plan that needs `needed` bytes, more than 0.
Result<void> check_workspace(const Workspace& workspace, std::uint64_t needed);

}  // namespace flashfit::api
