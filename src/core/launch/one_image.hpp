#pragma once
// The plan of kernels that have one variant for a problem: which of its images, or why none.
#include "core/base/error.hpp"
#include "core/launch/choice.hpp"

namespace flashfit {

/// The best image of the one variant that `of` accepts. `what` says what it computes: "gradients of activations in
/// fp16". Code::kMisfit names the GPU and what binds. The result points into `images`.
Result<const Image*> plan_one_image(std::string_view what, std::span<const Image> images, const GpuWithDriver& on,
                                    const std::function<bool(const Image&)>& of);

}  // namespace flashfit
