#pragma once
// What the lanes of a warp tell one another, of the contract of kernels/arch/arch.hpp. Part of
// proof/emu/flashfit_arch.hpp.
#include <cstring>

#include "core/base/types.hpp"
#include "proof/emu/machine.hpp"

namespace flashfit::arch {

/// A number as 32 bits, met with the other lanes'.
template <class T>
T exchange(const emu::Collective& op, T x, int with, Site site) {
  static_assert(sizeof(T) == sizeof(uint32));
  emu::ExchangeOperands operands{0, with, 0};
  std::memcpy(&operands.value, &x, sizeof x);
  emu::Machine::current().meet(op, &operands, site);
  std::memcpy(&x, &operands.result, sizeof x);
  return x;
}
inline float shuffle_xor(float x, int mask, Site site = {}) { return exchange(emu::kShuffleXor, x, mask, site); }
inline int shuffle_xor(int x, int mask, Site site = {}) { return exchange(emu::kShuffleXor, x, mask, site); }
inline uint32 shuffle_xor(uint32 x, int mask, Site site = {}) { return exchange(emu::kShuffleXor, x, mask, site); }
inline float shuffle(float x, int from, Site site = {}) { return exchange(emu::kShuffle, x, from, site); }
inline int shuffle(int x, int from, Site site = {}) { return exchange(emu::kShuffle, x, from, site); }
inline uint32 shuffle(uint32 x, int from, Site site = {}) { return exchange(emu::kShuffle, x, from, site); }

inline int warp_sum(int x, Site site = {}) { return exchange(emu::kWarpSum, x, 0, site); }
inline uint32 warp_sum(uint32 x, Site site = {}) { return exchange(emu::kWarpSum, x, 0, site); }
inline int warp_min(int x, Site site = {}) { return exchange(emu::kWarpMinInt, x, 0, site); }
inline uint32 warp_min(uint32 x, Site site = {}) { return exchange(emu::kWarpMin, x, 0, site); }
inline int warp_max(int x, Site site = {}) { return exchange(emu::kWarpMaxInt, x, 0, site); }
inline uint32 warp_max(uint32 x, Site site = {}) { return exchange(emu::kWarpMax, x, 0, site); }

inline uint32 ballot(bool x, Site site = {}) {
  emu::BallotOperands operands{x, 0};
  emu::Machine::current().meet(emu::kBallot, &operands, site);
  return operands.result;
}

}  // namespace flashfit::arch
