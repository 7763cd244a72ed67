#pragma once
// FLASHFIT_LOG=1: one line on stderr for each distinct decision.
#include "core/gpu/gpu.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "runtime/api/tensor_check.hpp"

namespace flashfit::api {

/// Whether FLASHFIT_LOG asks for lines; what follows is called only then.
bool logging();

void log_cpu(const CheckedForward& checked);
void log_gpu(const CheckedForward& checked, const Gpu& gpu, CudaVersion driver, const ForwardPlan& plan);
/// `checked`: nullptr if the arguments were wrong.
void log_refusal(const CheckedForward* checked, const Error& error);

}  // namespace flashfit::api
