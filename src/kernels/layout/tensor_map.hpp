#pragma once
// What a kernel takes to copy boxes of a tensor by TMA. How it is made: tensor_map_spec.hpp.
#include "core/base/types.hpp"

namespace flashfit {

/// An encoded map. Its bytes are the driver's on a GPU (runtime/images/tensor_map.hpp) and the emulator's own under it
/// (proof/emu/tensor_map.hpp). A kernel uses it where it lies in its Params; a copy on the stack is no tensor map.
struct alignas(64) TensorMap {
  uint64 opaque[16];
};

}  // namespace flashfit
