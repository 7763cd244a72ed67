#pragma once
// A checked call to the backend that its tensors live on.
#include "api/tensor_check.hpp"
#include "base/error.hpp"

namespace flashfit::api {

/// Computes (CPU) or queues on the stream (GPU). On a GPU nothing waits and no memory is allocated, neither the host's
/// nor, but for the first call of an image, the driver's. Errors: those of the backends;
/// kMisfit also when a plan needs more than the C API can give.
Result<void> dispatch_forward(const CheckedForward& checked);

}  // namespace flashfit::api
