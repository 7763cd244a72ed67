#pragma once
// Carried images on a live GPU: loaded once, launched on the caller's stream.
// docs/loading.md says what is kept and for how long.
#include <cstdint>

#include "base/error.hpp"
#include "images/image.hpp"

namespace flashfit {

struct LaunchConfig {
  std::int64_t grid;  ///< thread blocks, 0 to 2^31 - 1; 0 launches nothing
  int threads;        ///< of a block
  int shared_bytes;   ///< dynamic, of a block; at most image.shared_bytes
  int grid_y = 1;     ///< so many times `grid`, 1 to 65535
};

/// Makes `image` (one of carried_images()) ready on GPU `device`: what the first launch() would do, the launch itself
/// left out. Call it where the first launch may not take long (an image of PTX is
/// compiled here) or must not touch the device's memory.
Result<void> prepare(const Image& image, int device);

/// Queues one launch of `image` (one of carried_images()) on `stream` (a CUstream of GPU `device`, or nullptr), the
/// kernel's one argument copied from `params`. A stream brings its own context; nullptr is the legacy default stream of
/// the caller's current context if that is of `device`, else of the primary context of `device`, which is current for
/// the call only. Thread safe; never waits for the GPU, allocates no device memory of its own; may be captured into a
/// CUDA graph, the first launch too. Errors: driver()'s and loading_driver()'s; kInvalidArgument names the number that
/// is wrong, or the stream of another GPU; kCuda: the driver's call and words, the image, the GPU, and what it means.
/// After an error everything is as before the call, and a later call starts anew.
Result<void> launch(const Image& image, int device, void* stream, const LaunchConfig& config, const void* params);

}  // namespace flashfit
