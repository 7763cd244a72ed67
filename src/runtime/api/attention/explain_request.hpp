#pragma once
// The arguments of an explanation, read once for its two forms: structs and JSON.
#include <optional>
#include <vector>

#include "core/base/error.hpp"
#include "flashfit/flashfit.h"
#include "kernels/attention/forward/plan/explain.hpp"

namespace flashfit::api {

struct ExplainRequest {
  ForwardProblem problem;
  std::vector<Gpu> gpus;
  CudaVersion driver = 0;
  PlanOptions options;                ///< variant is the caller's string
  std::optional<ForwardConfig> tile;  ///< what if
};

/// Errors: kInvalidArgument for a gpu, dtype, size, variant or tile that is none, or that does not go with the others;
/// kNoGpu if gpu is NULL on a machine without one.
Result<ExplainRequest> read_explain(const flashfit_explain_args* args);

/// Of one of the request's GPUs, with the images that this library carries.
Explanation explained(const ExplainRequest& request, const Gpu& gpu);

}  // namespace flashfit::api
