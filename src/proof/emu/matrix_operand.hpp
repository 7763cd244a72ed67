#pragma once
// wgmma's operands in shared memory, found by the bits of their descriptors.
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "kernels/layout/matrix_descriptor.hpp"

namespace flashfit::emu {

/// A block's shared memory as descriptors address it.
struct SharedWindow {
  /// Where it starts: as on a Hopper GPU, which keeps the first 1 KB. A descriptor that nobody filled in is outside.
  static constexpr std::uint32_t kBase = 1024;

  const std::byte* data;
  std::size_t bytes;

  bool holds(std::uint32_t address, std::uint32_t count) const {
    return address >= kBase && address - kBase + count <= bytes;
  }
  const std::byte* at(std::uint32_t address) const { return data + (address - kBase); }
};

/// `extent` of m or n by 16 of k, 16-bit elements.
class MatrixOperand {
 public:
  static constexpr int kK = 16;
  static constexpr std::uint32_t kRowBytes = 16;  ///< of a core matrix: what lies together

  MatrixOperand(uint64 bits, Major major, int extent)
      : bits_(bits), descriptor_(decode(bits)), major_(major), extent_(extent) {}

  /// What the descriptor breaks of the documented rules (PTX ISA, "Matrix Descriptor Format"), or "".
  std::string fault(const SharedWindow& shared) const;
  /// The elements [first, first + count) of m or n: [count, 16], or with `k_first` [16, count].
  std::vector<unsigned short> read(const SharedWindow& shared, int first, int count, bool k_first) const;

  /// Calls each(address) for the rows of core matrices that hold these elements.
  template <class Each>
  void for_each_row(int first, int count, Each each) const {
    for (int mn = first; mn < first + count; mn += mn_step())
      for (int k = 0; k < kK; k += k_step()) each(element_address(descriptor_, major_, mn, k), mn, k);
  }

 private:
  int mn_step() const { return major_ == Major::kK ? 1 : 8; }
  int k_step() const { return major_ == Major::kK ? 8 : 1; }

  uint64 bits_;
  MatrixDescriptor descriptor_;
  Major major_;
  int extent_;
};

}  // namespace flashfit::emu
