#pragma once
// What a plan of the forward launches: the steps, and for each call their arguments.
#include <array>
#include <cstdint>
#include <span>

#include "core/launch/step.hpp"
#include "kernels/attention/forward/params.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// The launches of `image` for a problem whose keys are cut in `splits` parts: ForwardPlan::steps.
Steps forward_steps(const Image& image, const ForwardProblem& problem, std::int64_t slots, int splits);

/// The arguments of a plan's steps.
class ForwardArguments {
 public:
  /// `call` as the plan was asked for it. Its keys' parts put their results in the caller's `workspace` of at least
  /// plan.workspace_bytes.
  ForwardArguments(const ForwardPlan& plan, const ForwardCall& call, void* workspace);
  /// Of steps whose first one has these arguments.
  explicit ForwardArguments(const ForwardParams& first);
  ForwardArguments(const ForwardArguments&) = delete;
  ForwardArguments& operator=(const ForwardArguments&) = delete;

  std::span<const void* const> all() const { return pointers_; }

 private:
  ForwardParams parts_, combine_;
  std::array<const void*, 2> pointers_ = {&parts_, &combine_};
};

}  // namespace flashfit
