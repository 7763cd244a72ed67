#pragma once
// A CUDA runtime that was linked into a library (libcudart_static) stands in none of its tables: texts of its own tell.
#include <array>
#include <cstdint>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

class LinkedCudart {
 public:
  /// At least as many bytes as any text has.
  static constexpr std::size_t kWindow = 64;

  /// Whether a text may begin with these four bytes.
  static bool may_begin(std::uint32_t word) {
    constexpr std::uint32_t kLowerCase = 0x20202020, kCuda = 0x61647563;
    return (word | kLowerCase) == kCuda;
  }
  /// kWindow bytes from a multiple of eight on: compilers align texts of this length so.
  void look(Bytes window);
  /// The newest major version that its texts tell of, 12 or later: 13 may be a later one. 0: none, or an older one.
  int major() const;

 private:
  std::array<bool, 3> found_{};
};

}  // namespace flashfit::doctor
