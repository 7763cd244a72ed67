#pragma once
// The arguments of this folder's kernels. Neutral: the host fills them in, NVRTC compiles them.
#include "core/base/types.hpp"
#include "proof/reference/planted.hpp"

namespace flashfit::measure {

inline constexpr int kThreads = 256;  ///< of a block of each kernel here

struct FillParams {
  void* data;
  int64 rows, heads, dim;  ///< of one batch; dim is even
  int64 batch_stride, row_stride, head_stride;
  int64 pairs;  ///< elements / 2, of all batches
  uint64 key;
  float scale;
  int tensor;  ///< as planted() has it; 3: what nothing is planted in
  reference::PlantedColumns planted;
};

struct LoopParams {
  float* out;  ///< written if a sum is what it never is, so that no work can be left out
  int steps;
};

struct ReadParams {
  const void* data;
  int64 lines;  ///< of 16 bytes
  float* out;
};

struct ClockParams {
  uint64* out;  ///< cycles, nanoseconds
  int64 nanoseconds;
};

}  // namespace flashfit::measure
