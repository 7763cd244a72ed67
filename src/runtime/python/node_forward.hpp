#pragma once
// The forward inside PyTorch's own nodes of flash attention (_torch_node.py), as kernels of torch's dispatcher that
// need neither Python nor its lock.
#include "flashfit/flashfit.h"
#include "runtime/python/torch_shim.hpp"

namespace flashfit::python {

/// A kernel as torch's stable interface calls it: of `count` arguments, which it owns, in place of which it leaves its
/// results.
using TorchKernel = void (*)(torch_shim::Value* stack, std::uint64_t count, std::uint64_t results);

/// PyTorch's operators that have such a node, by the name of each.
enum class NodeOperator {
  kOnCpu,          ///< aten::_scaled_dot_product_flash_attention_for_cpu
  kOnGpu,          ///< aten::_scaled_dot_product_flash_attention
  kOnGpuRowsFirst  ///< aten::_flash_attention_forward
};

/// The operator's kernel for calls of q, k, v and at most is_causal and scale. What the C API refuses has no result:
/// its `out` is undefined, None in Python, and nothing was written. connect_node_forward() comes first.
TorchKernel node_forward(NodeOperator name);

/// What computes the results, the same for all interpreters of the process.
void connect_node_forward(decltype(&flashfit_attention_run) attention_run);

}  // namespace flashfit::python
