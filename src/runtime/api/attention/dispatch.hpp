#pragma once
// A checked call to the backend that its tensors live on.
#include <cstdint>

#include "core/base/error.hpp"
#include "runtime/api/attention/tensor_check.hpp"
#include "runtime/api/workspace.hpp"

namespace flashfit::api {

/// Computes (CPU) or queues on the stream (GPU). On a GPU nothing waits and no memory is allocated, neither the host's
/// nor, but for the first call of an image, the driver's; a workspace comes from the caller. Errors of all three:
/// kDisabled, and those of the backends and of find_workspace().
Result<void> dispatch_forward(const CheckedForward& checked, const Allocator& allocator);

/// The workspace bytes that dispatch_forward() needs.
Result<std::uint64_t> dispatch_workspace(const CheckedForward& checked);

/// Loads what dispatch_forward() would launch.
Result<void> dispatch_prepare(const CheckedForward& checked);

}  // namespace flashfit::api
