#pragma once
// The GPUs of this machine, for calls that take microseconds.
#include "core/base/error.hpp"
#include "core/gpu/gpu.hpp"

namespace flashfit::api {

/// live_gpu() without its copy. Kept for good: threads may still call while the process exits. Errors: the driver's;
/// kInvalidArgument, naming the `argument` whose device it is, if there is no such GPU.
Result<const Gpu*> remembered_gpu(const char* argument, int index);

}  // namespace flashfit::api
