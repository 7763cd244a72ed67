#pragma once
// Instructions that a warp's 32 lanes execute together. Each lane hands in its operands;
// the last one to arrive executes for all.
#include "base/types.hpp"
#include "emu/options.hpp"

namespace flashfit::emu {

inline constexpr int kLanes = 32;

/// `execute` gets the operands of lanes 0 .. 31, each a pointer to the instruction's
/// operand struct below. Identity is the address.
struct Collective {
  const char* name;
  void (*execute)(void* const* lanes);
  std::uint64_t Stats::* counter;
};

struct ShuffleXorOperands {
  float value;
  int mask;
  float result;
};
struct BallotOperands {
  bool value;
  uint32 result;
};
struct LdmatrixOperands {
  const void* row;  ///< 16 bytes of shared memory, checked
  uint32* registers;
};
/// Of rows x columns matrix instructions at once, which share operands: d[m][n] += a[m] b[n]. The same numbers in all
/// lanes.
struct MmaOperands {
  static constexpr int kMostRows = 4;  ///< with two columns; one row with one

  float* d;         ///< [m][n]: 4 floats; those of m lie `d_stride` floats after those of m - 1
  const uint32* a;  ///< [m]: 4 registers
  const uint32* b;  ///< [n]: 2 registers
  int rows, columns, d_stride;
  const TensorCore* core;  ///< nullptr: plain fp32
};

/// The operands of one lane, for `execute`.
template <class Operands>
Operands& of(void* const* lanes, int lane) {
  return *static_cast<Operands*>(lanes[lane]);
}

extern const Collective kShuffleXor, kBallot, kLdmatrixX4, kLdmatrixX4Trans, kMmaM16N8K16F16, kMmaM16N8K16BF16;

}  // namespace flashfit::emu
