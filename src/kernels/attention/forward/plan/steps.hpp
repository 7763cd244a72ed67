#pragma once
// What a plan of the forward launches: the steps, and for each call their arguments.
#include <array>
#include <cstdint>
#include <span>

#include "core/launch/step.hpp"
#include "kernels/attention/forward/params.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/wgmma/tensor_maps.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// The launches of `image` for a problem whose keys are cut in `splits` parts: ForwardPlan::steps. Over wgmma blocks
/// stay and share the tiles, at most `resident` of them.
Steps forward_steps(const Image& image, const ForwardProblem& problem, std::int64_t slots, int splits,
                    std::int64_t resident);

/// The arguments of a plan's steps.
class ForwardArguments {
 public:
  ForwardArguments() = default;
  ForwardArguments(const ForwardArguments&) = delete;
  ForwardArguments& operator=(const ForwardArguments&) = delete;

  /// Those of `call` as the plan was asked for it. Its keys' parts put their results in the caller's `workspace` of at
  /// least plan.workspace_bytes. Errors: those of `encode`.
  Result<void> set(const ForwardPlan& plan, const ForwardCall& call, void* workspace, EncodeTensorMap encode);
  /// Those of `call` as it is launched, with `params` made of it.
  Result<void> set(const ForwardConfig& config, const ForwardCall& call, const ForwardParams& params,
                   EncodeTensorMap encode);

  std::span<const void* const> all() const { return pointers_; }

 private:
  ForwardParams parts_, combine_;
  WgmmaForwardParams wgmma_;
  std::array<const void*, 2> pointers_ = {};
};

}  // namespace flashfit
