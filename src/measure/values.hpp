#pragma once
// Random numbers by their place alone, the same bits on the host and on a GPU: a check makes only the rows it looks at.
// Neutral: NVRTC compiles it too.
#include "core/base/types.hpp"

namespace flashfit::measure {

/// SplitMix64's finaliser: every bit of the result depends on every bit of z.
constexpr uint64 mixed(uint64 z) {
  z = (z ^ z >> 30) * 0xbf58476d1ce4e5b9u;
  z = (z ^ z >> 27) * 0x94d049bb133111ebu;
  return z ^ z >> 31;
}

/// Number `index` of stream `key`: bell-shaped, of mean 0, standard deviation 1 and at most 3.5. The sum of four 16-bit
/// numbers is exact in fp32, so that what follows is one rounding.
constexpr float bell(uint64 key, uint64 index) {
  const uint64 z = mixed(key + (index + 1) * 0x9e3779b97f4a7c15u);
  const int sum = int(z & 0xffff) + int(z >> 16 & 0xffff) + int(z >> 32 & 0xffff) + int(z >> 48) - 131070;
  return float(sum) * (1.0f / 37837.2f);  // 65536 / sqrt(3)
}

/// The stream of one tensor (0 q, 1 k, 2 v, 3 bias, 4 sinks) of one filling.
constexpr uint64 stream_of(uint64 seed, int tensor) { return mixed(seed * 8 + uint64(tensor)); }

}  // namespace flashfit::measure
