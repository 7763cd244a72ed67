#pragma once
// What the host writes into a tensor map (CUDA Driver API, cuTensorMapEncodeTiled).
#include "kernels/layout/swizzle_mode.hpp"

namespace flashfit {

/// Bytes that L2 fetches from memory at a time.
enum class L2Promotion : unsigned char { kNone, k64B, k128B, k256B };

/// What a load puts where the box leaves the tensor.
enum class OutOfBounds : unsigned char { kZeros, kNaN };

/// A strided view of up to five dimensions, innermost first, and the box of it that one copy moves. The rules are in
/// kernels/layout/tensor_map_rules.hpp.
struct TensorMapSpec {
  DType dtype;
  int rank;
  const void* base;                             ///< of element (0, ..)
  uint64 dims[5];                               ///< elements
  uint64 strides[4];                            ///< bytes between neighbours of dims 1, 2, ..; those of dim 0 touch
  uint32 box[5];                                ///< extent in elements
  uint32 element_strides[5] = {1, 1, 1, 1, 1};  ///< of each extent, every so many elements are copied
  SwizzleMode swizzle = SwizzleMode::kNone;
  L2Promotion l2 = L2Promotion::k128B;
  OutOfBounds fill = OutOfBounds::kZeros;

  constexpr bool operator==(const TensorMapSpec&) const = default;

  /// Elements that a copy moves along dimension d.
  constexpr uint32 extent(int d) const { return (box[d] + element_strides[d] - 1) / element_strides[d]; }
  /// Bytes of one row of the box, as it lies in shared memory.
  constexpr uint32 inner_bytes() const { return box[0] * uint32(size_of(dtype)); }
  /// Bytes that a copy moves, and that a load counts on its mbarrier: parts outside the tensor count too.
  constexpr uint32 box_bytes() const {
    uint32 bytes = inner_bytes();
    for (int d = 1; d < rank; ++d) bytes *= extent(d);
    return bytes;
  }
};

}  // namespace flashfit
