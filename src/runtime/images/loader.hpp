#pragma once
// Carried images on a live GPU: loaded once, launched on the caller's stream.
// docs/loading.md says what is kept and for how long.
#include <span>

#include "core/base/error.hpp"
#include "core/launch/step.hpp"

namespace flashfit {

/// Makes the images of `steps` (of carried_images()) ready on GPU `device`: what the first launch() would do, the
/// launch itself left out. Call it where the first launch may not take long (an image of PTX is compiled here) or must
/// not touch the device's memory.
Result<void> prepare(std::span<const Step> steps, int device);

/// Queues the steps (their images of carried_images()) on `stream` (a CUstream of GPU `device`, or nullptr); params[i]
/// is the kernel's one argument of step i, copied before the call returns. Where that holds tensor maps,
/// runtime/images/tensor_map.hpp encoded them. A stream brings its own context; nullptr is the legacy default stream of
/// the caller's current context if that is of `device`, else of the primary context of `device`, which is current for
/// the call only. Thread safe; never waits for the GPU, allocates no device memory of its own; may be captured into a
/// CUDA graph, the first launch too. Nothing is queued before all images are ready. Errors: driver()'s and
/// loading_driver()'s; kInvalidArgument names the number that is wrong, or the stream of another GPU; kCuda: the
/// driver's call and words, the image, the GPU, and what it means. After an error everything is as before the call, but
/// for steps that were queued before the one that failed, and a later call starts anew.
Result<void> launch(std::span<const Step> steps, std::span<const void* const> params, int device, void* stream);

}  // namespace flashfit
