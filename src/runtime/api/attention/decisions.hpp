#pragma once
// What was decided for an attention call, for the log of decisions.
#include "core/gpu/gpu.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "runtime/api/attention/tensor_check.hpp"

namespace flashfit::api {

void log_cpu(const CheckedForward& checked);
void log_gpu(const CheckedForward& checked, const Gpu& gpu, CudaVersion driver, const ForwardPlan& plan);
/// `checked`: nullptr if the arguments were wrong.
void log_refusal(const CheckedForward* checked, const Error& error);

}  // namespace flashfit::api
