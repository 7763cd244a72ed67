#pragma once
// Instructions that a warp's 32 lanes execute together. Each lane hands in its operands;
// the last one to arrive executes for all.
#include "core/base/types.hpp"
#include "proof/emu/options.hpp"

namespace flashfit::emu {

inline constexpr int kLanes = 32;

/// `execute` gets the operands of lanes 0 .. 31, each a pointer to the instruction's
/// operand struct below. Identity is the address.
struct Collective {
  const char* name;
  void (*execute)(void* const* lanes);
  std::uint64_t Stats::* counter;
};

/// Of shuffles and of reductions over a warp. `with`: a mask, or the lane that is asked.
struct ExchangeOperands {
  uint32 value;
  int with;
  uint32 result;
};
/// A warp's own number is passed on by a shuffle, which needs all lanes; nothing else happens.
struct WarpOperands {};
struct BallotOperands {
  bool value;
  uint32 result;
};
/// Of `count` ldmatrix_x4 at once.
struct LdmatrixOperands {
  const std::uintptr_t* rows;  ///< [i]: 16 bytes of shared memory, checked
  uint32* registers;           ///< [i]: 4
  int count;
};
/// Of rows x columns matrix instructions at once: d[m][n] += a[m] b[n]. The same numbers in all lanes.
struct MmaOperands {
  static constexpr int kMostRows = 4, kMostColumns = 32;

  float* d;                                ///< [m][n]: 4 floats
  const uint32* a;                         ///< [m]: 4 registers
  const uint32* b = nullptr;               ///< [n]: 2 registers, or
  const std::uintptr_t* b_rows = nullptr;  ///< [n / 2]: what an ldmatrix_x4 of b[n], b[n + 1] reads, checked
  int rows = 1, columns = 1;
};

/// The operands of one lane, for `execute`.
template <class Operands>
Operands& of(void* const* lanes, int lane) {
  return *static_cast<Operands*>(lanes[lane]);
}

extern const Collective kWarp, kShuffleXor, kShuffle, kBallot, kLdmatrixX4, kLdmatrixX4Trans, kMmaF16, kMmaBF16;

/// Over all lanes: modulo 2^32; of signed and unsigned numbers.
extern const Collective kWarpSum, kWarpMin, kWarpMinInt, kWarpMax, kWarpMaxInt;

/// Matrix instructions that load b from shared memory themselves.
struct SharedMma {
  const char* loads;  ///< the instruction that reads b
  Collective f16, bf16;
};
extern const SharedMma kSharedMma, kSharedMmaTrans;

}  // namespace flashfit::emu
