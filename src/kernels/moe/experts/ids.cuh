#pragma once
// Which expert an id is: one function for the sort, and for a call of one token, which does without it.
#include "kernels/arch/arch.hpp"

namespace flashfit {

/// From `low` on counted from 0, and by the map, if there is one, of `mapped` ids. An id that is no expert here, one
/// below `low` and one that the map has as -1 too, gives a number that is not below that of the experts here.
inline uint32 expert_of(uint32 id, int low, const int* map, int mapped) {
  if (map == nullptr) return id - uint32(low);
  return id < uint32(mapped) ? uint32(arch::load(map, int(id))) : ~0u;
}

}  // namespace flashfit
