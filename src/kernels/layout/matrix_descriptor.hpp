#pragma once
// The 64-bit descriptor by which wgmma finds a matrix in shared memory (PTX ISA, "Matrix Descriptor Format"; the
// strides' meanings as in the comments of CUTLASS's mma_traits_sm90_gmma.hpp). Kernels encode, the emulator decodes the
// same bits.
#include "kernels/layout/swizzle_mode.hpp"

namespace flashfit {

/// Which dimension of an operand is contiguous in memory: k, or m of A and n of B (wgmma's "transposed" operands).
enum class Major : unsigned char { kK, kMN };

/// A core matrix is eight rows of 16 bytes, the unit that the strides count. What they mean:
///
/// | major, swizzle | leading_bytes                      | stride_bytes                       |
/// |----------------|------------------------------------|------------------------------------|
/// | k, none        | to the next 16 bytes of k          | to the next 8 of m (n)             |
/// | k, swizzled    | not read                           | to the next 8 of m (n)             |
/// | mn, none       | to the next 8 of k                 | to the next 16 bytes of m (n)      |
/// | mn, swizzled   | to the next pattern row of m (n)   | to the next 8 of k                 |
///
/// Inside, eight rows of the pattern follow each other: of m (n) when k is contiguous, of k otherwise.
struct MatrixDescriptor {
  uint32 address;        ///< of the first element, in the block's shared memory: a multiple of 16, below 2^18
  uint32 leading_bytes;  ///< a multiple of 16, below 2^18; so is stride_bytes
  uint32 stride_bytes;
  SwizzleMode swizzle;
  uint32 base_offset;  ///< (address of the pattern's start >> 7) & 7, if it is no multiple of pattern_bytes(); else 0

  bool operator==(const MatrixDescriptor&) const = default;
};

constexpr uint64 encode(const MatrixDescriptor& d) {
  // The code of the mode runs against its width: 0 none, 1 128, 2 64, 3 32 bytes.
  const uint64 mode = d.swizzle == SwizzleMode::kNone ? 0 : 4 - int(d.swizzle);
  return uint64(d.address & 0x3ffff) >> 4 | uint64(d.leading_bytes & 0x3ffff) >> 4 << 16 |
         uint64(d.stride_bytes & 0x3ffff) >> 4 << 32 | uint64(d.base_offset & 7) << 49 | mode << 62;
}

constexpr MatrixDescriptor decode(uint64 bits) {
  const uint32 mode = uint32(bits >> 62);
  return {.address = uint32(bits & 0x3fff) << 4,
          .leading_bytes = uint32(bits >> 16 & 0x3fff) << 4,
          .stride_bytes = uint32(bits >> 32 & 0x3fff) << 4,
          .swizzle = mode == 0 ? SwizzleMode::kNone : SwizzleMode(4 - mode),
          .base_offset = uint32(bits >> 49 & 7)};
}

/// Address of the 16-bit element (mn, k) of the operand that the descriptor begins; k below 16.
constexpr uint32 element_address(const MatrixDescriptor& d, Major major, int mn, int k) {
  const uint32 row = row_bytes(d.swizzle);
  const bool plain = d.swizzle == SwizzleMode::kNone;
  const uint32 contiguous = major == Major::kK ? k : mn, across = major == Major::kK ? mn : k;
  const uint32 panel = 2 * contiguous / row, groups = across / 8;
  const uint32 panel_bytes = plain && major == Major::kMN ? d.stride_bytes : d.leading_bytes;
  const uint32 group_bytes = plain && major == Major::kMN ? d.leading_bytes : d.stride_bytes;
  const uint32 at = d.address + panel * panel_bytes + groups * group_bytes + across % 8 * row + 2 * contiguous % row;
  return swizzled(at, d.swizzle, int(d.base_offset));
}

}  // namespace flashfit
