#pragma once
// The gradients of a layer of experts behind the C API.
#include "core/base/error.hpp"
#include "flashfit/flashfit.h"

namespace flashfit::api {

/// Computes on the CPU. Errors: kInvalidArgument with the argument, its value and what is accepted; kMisfit for tensors
/// on a GPU; kDisabled; kOutOfMemory.
Result<void> fused_moe_backward(const flashfit_fused_moe_backward_args* args);

}  // namespace flashfit::api
