#pragma once
// Why nothing carried serves a problem on a GPU, in one line. Inner part of the plan.
#include <optional>

#include "kernels/attention/forward/plan/candidates.hpp"

namespace flashfit {

/// What no image could help with: dtype, driver, rows. Nothing if the problem is sound for this GPU.
std::optional<Error> misfit_of_problem(const ForwardProblem& problem, const Gpu& gpu, CudaVersion driver);

/// The reason why the request has no candidate.
Error misfit_of_images(const Request& request);

/// The variant that a name means, among the images or else in the table. Error: those that would suit the problem.
Result<const ForwardVariant*> variant_named(std::string_view name, const ForwardProblem& problem,
                                            std::span<const Image> images);

}  // namespace flashfit
