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
struct MmaOperands {
  float* d;
  const uint32* a;
  uint32 b[2];
  const TensorCore* core;  ///< nullptr: plain fp32
};

extern const Collective kShuffleXor, kBallot, kLdmatrixX4, kLdmatrixX4Trans, kMmaM16N8K16F16, kMmaM16N8K16BF16;

}  // namespace flashfit::emu
