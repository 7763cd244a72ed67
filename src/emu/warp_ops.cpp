// Shuffles, votes and ldmatrix, for all lanes at once.
#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/collective.hpp"

namespace flashfit::emu {
namespace {

template <class Operands>
Operands& of(void* const* lanes, int lane) {
  return *static_cast<Operands*>(lanes[lane]);
}

void shuffle_xor(void* const* lanes) {
  for (int l = 0; l < kLanes; ++l) {
    auto& self = of<ShuffleXorOperands>(lanes, l);
    self.result = of<ShuffleXorOperands>(lanes, (l ^ self.mask) % kLanes).value;
  }
}

void ballot(void* const* lanes) {
  uint32 bits = 0;
  for (int l = 0; l < kLanes; ++l) bits |= uint32{of<BallotOperands>(lanes, l).value} << l;
  for (int l = 0; l < kLanes; ++l) of<BallotOperands>(lanes, l).result = bits;
}

/// Register k of lane l gets row l / 4, columns 2 (l % 4) and the next of matrix k, whose rows the lanes 8 k .. 8 k + 7
/// point to (PTX ISA, "ldmatrix").
template <bool Trans>
void ldmatrix_x4(void* const* lanes) {
  for (int k = 0; k < 4; ++k) {
    unsigned short matrix[8][8];
    for (int row = 0; row < 8; ++row) std::memcpy(matrix[row], of<LdmatrixOperands>(lanes, k * 8 + row).row, 16);
    if constexpr (Trans)
      for (int i = 0; i < 8; ++i)
        for (int j = 0; j < i; ++j) std::swap(matrix[i][j], matrix[j][i]);
    for (int l = 0; l < kLanes; ++l)
      std::memcpy(&of<LdmatrixOperands>(lanes, l).registers[k], &matrix[l / 4][l % 4 * 2], 4);
  }
}

}  // namespace

constexpr Collective kShuffleXor{"shuffle_xor", shuffle_xor, &Stats::shuffles};
constexpr Collective kBallot{"ballot", ballot, &Stats::votes};
constexpr Collective kLdmatrixX4{"ldmatrix_x4", ldmatrix_x4<false>, &Stats::ldmatrix};
constexpr Collective kLdmatrixX4Trans{"ldmatrix_x4_trans", ldmatrix_x4<true>, &Stats::ldmatrix};

}  // namespace flashfit::emu
