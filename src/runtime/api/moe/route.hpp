#pragma once
// The router behind the C API: arguments checked, planned and run.
#include <string>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"
#include "kernels/moe/route/plan.hpp"

namespace flashfit::api {

/// Computes (CPU) or queues on the stream (GPU); nothing waits, nothing is allocated on a device. Errors:
/// kInvalidArgument with the argument, its value and what is accepted; kDisabled; those of the backends.
Result<void> route(const flashfit_moe_route_args* args);

/// All of route() but the launch: the kernel is loaded.
Result<void> prepare_route(const flashfit_moe_route_args* args);

/// A list of write_explanation()'s objects. Errors: as of explain_json().
Result<std::string> route_json(const flashfit_moe_route_explain_args* args);

/// The plan of a call on GPU `device`, planned once for each problem; it lives until this thread has asked for eight
/// others. Errors: the driver's and the plan's.
Result<const RoutePlan*> plan_route_on_gpu(const RouteProblem& problem, int device, const PlanOptions& options);

}  // namespace flashfit::api
