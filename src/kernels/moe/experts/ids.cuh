#pragma once
// Which expert an id is: one function for the sort, and for a call of one token, which does without it.
#include "kernels/arch/arch.hpp"
#include "kernels/moe/experts/params.hpp"

namespace flashfit {

/// From `low` on counted from 0, or by the map, if there is one. An id that is no expert here, one below `low` and one
/// that the map has as -1 too, gives a number that is not below that of the experts here.
inline uint32 expert_of(uint32 id, const ExpertsHere& here) {
  if (here.map == nullptr) return id - uint32(here.low);
  return id < uint32(here.mapped) ? uint32(arch::load(here.map, int(id))) : ~0u;
}

}  // namespace flashfit
