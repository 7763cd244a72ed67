#pragma once
// Doubles of src/runtime/images: images for compute capability 8.9 that no compiler made, and a launch that a test is
// told of.
#include <cstddef>
#include <vector>

#include "core/launch/image.hpp"
#include "kernels/attention/forward/variants.hpp"
#include "runtime/images/loader.hpp"

namespace flashfit::gpu_double {

/// A step that launch() was asked for.
struct Launched {
  const Image* image;
  int device;
  void* stream;
  Grid grid;
  std::vector<std::byte> argument;

  /// The argument of a family's kernel.
  template <class Params>
  const Params& as() const {
    return *reinterpret_cast<const Params*>(argument.data());
  }
};

extern std::vector<Launched> launched;
/// The images that prepare() was asked for.
extern std::vector<const Image*> prepared;
/// What both say.
extern Result<void> answer;
/// false: launch() leaves no trace, for timing.
extern bool recording;

}  // namespace flashfit::gpu_double
