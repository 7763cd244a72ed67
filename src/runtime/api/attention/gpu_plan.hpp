#pragma once
// The plan of a checked call for the live GPU that its tensors are on.
#include "core/base/error.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "runtime/api/attention/tensor_check.hpp"

namespace flashfit::api {

/// Remembers each thread's last few problems by all that the plan depends on, so that a repeated call does not plan
/// again; calls that force a variant, for tests and tuning, are planned each time. Valid until the thread's next call.
/// Errors: the driver's, the GPU's and the plan's.
Result<const ForwardPlan*> plan_on_gpu(const CheckedForward& checked);

}  // namespace flashfit::api
