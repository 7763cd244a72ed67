#pragma once
// Why nothing carried serves a problem on a GPU, in one line. Inner part of the plan.
#include <optional>

#include "kernels/attention/forward/plan/candidates.hpp"

namespace flashfit {

/// What no image could help with: dtype, driver, rows. Nothing if the problem is sound for this GPU.
std::optional<Error> misfit_of_problem(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver);

/// The reason why the request has no candidate.
Error misfit_of_images(const Request& request);

/// What a caller forces by name.
struct NamedVariant {
  const ForwardVariant* variant;
  int splits;  ///< parts of the keys, as many as tiles of keys at most; 0: the plan chooses
};

/// What "NAME" or "NAME/PARTS" means, a variant among the images or else in the table, and parts of the keys. Error:
/// those that would suit the problem, or how many parts there may be.
Result<NamedVariant> variant_named(std::string_view name, const ForwardProblem& problem, std::span<const Image> images);

}  // namespace flashfit
