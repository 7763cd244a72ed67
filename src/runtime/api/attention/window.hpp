#pragma once
// A sliding window as callers give it, in the fewest forms that mean the same: a plan is remembered by its problem.
#include "core/base/error.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit::api {

struct Window {
  bool given = false;  ///< else both are 0
  std::int64_t left = 0, right = 0;
};

/// Sets the window of a problem whose `causal` and rows are set. Errors: a number that is none, or one without
/// FLASHFIT_WINDOW.
Result<void> set_window(ForwardProblem& problem, const Window& window);

}  // namespace flashfit::api
