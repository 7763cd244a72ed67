#pragma once
// What a plan of the forward launches: the steps, and for each call their arguments.
#include <array>
#include <cstdint>
#include <span>

#include "core/launch/step.hpp"
#include "kernels/attention/forward/combine/params.hpp"
#include "kernels/attention/forward/params.hpp"
#include "kernels/attention/forward/plan/plan.hpp"
#include "kernels/attention/forward/wgmma/tensor_maps.hpp"
#include "kernels/attention/problem.hpp"

namespace flashfit {

/// The launches of `image` for a problem whose keys are cut in `splits` parts: ForwardPlan::steps. `combine` is the
/// image that makes one output of more than one part. Over wgmma blocks are persistent and share the tiles, at most
/// `resident` of them; with sequences of different lengths they take tiles from an atomic counter, as the host does not
/// know what tiles cost.
Steps forward_steps(const Image& image, const Image* combine, const ForwardProblem& problem, std::int64_t slots,
                    int splits, std::int64_t resident);

/// Whether blocks of these steps take tiles by a counter in the workspace, an int.
inline bool shares_counter(const Steps& steps) { return steps[0].cleared.words != 0; }

/// The arguments of a plan's steps.
class ForwardArguments {
 public:
  ForwardArguments() = default;
  ForwardArguments(const ForwardArguments&) = delete;
  ForwardArguments& operator=(const ForwardArguments&) = delete;

  /// Those of `call` as the plan was asked for it. Its keys' parts put their results in the caller's `workspace` of at
  /// least plan.workspace_bytes. Errors: those of `encode`.
  Result<void> set(const ForwardPlan& plan, const ForwardCall& call, void* workspace, EncodeTensorMap encode);
  /// Those of `call` as it is launched, with `params` made of it; `taken`: the counter of steps that share one.
  Result<void> set(const ForwardConfig& config, const ForwardCall& call, const ForwardParams& params,
                   EncodeTensorMap encode, int* taken);

  std::span<const void* const> all() const { return pointers_; }

 private:
  ForwardParams parts_;
  CombineParams combine_;
  WgmmaForwardParams wgmma_;
  std::array<const void*, 2> pointers_ = {};
};

}  // namespace flashfit
