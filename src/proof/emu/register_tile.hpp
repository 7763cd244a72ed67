#pragma once
// Registers that a warp lends to wgmma: which they are in each lane, and what they must hold while they are lent.
#include <algorithm>
#include <array>
#include <cstddef>
#include <cstring>
#include <vector>

namespace flashfit::emu {

/// Arrays of a lane's registers that it hands to a fence or gets back from a wait.
struct RegisterArray {
  void* base;
  std::size_t bytes;
};
struct WgmmaRegisters {
  const RegisterArray* arrays;
  std::size_t count;

  bool name(const void* base) const {
    return std::any_of(arrays, arrays + count, [&](const RegisterArray& r) { return r.base == base; });
  }
};

/// One array in all lanes of a warp.
struct RegisterTile {
  std::array<std::byte*, 32> lanes;
  std::size_t bytes;                ///< a lane
  std::vector<std::byte> contents;  ///< as the last fence or wait left it; poison while in flight
  int in_flight = 0;                ///< products that write it
  std::vector<float> sums;          ///< theirs so far: [16, n]

  bool holds_its_contents() const {
    for (std::size_t l = 0; l < lanes.size(); ++l)
      if (std::memcmp(lanes[l], &contents[l * bytes], bytes) != 0) return false;
    return true;
  }
  void keep_contents() {
    contents.resize(lanes.size() * bytes);
    for (std::size_t l = 0; l < lanes.size(); ++l) std::memcpy(&contents[l * bytes], lanes[l], bytes);
  }
};

}  // namespace flashfit::emu
