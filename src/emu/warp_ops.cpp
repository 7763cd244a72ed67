// Shuffles, votes and ldmatrix, for all lanes at once.
#include <cstring>
#include <utility>

#include "emu/collective.hpp"
#include "emu/machine.hpp"
#include "emu/matrix_rows.hpp"

namespace flashfit::emu {
namespace {

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
  const int count = of<LdmatrixOperands>(lanes, 0).count;
  for (int i = 0; i < count; ++i) {
    MatrixRows rows;
    for (int l = 0; l < kLanes; ++l) rows[l] = of<LdmatrixOperands>(lanes, l).rows[i];
    check_rows(rows, Trans ? kLdmatrixX4Trans.name : kLdmatrixX4.name);
    for (int k = 0; k < 4; ++k) {
      unsigned short matrix[8][8];
      for (int row = 0; row < 8; ++row) std::memcpy(matrix[row], reinterpret_cast<const void*>(rows[k * 8 + row]), 16);
      if constexpr (Trans)
        for (int r = 0; r < 8; ++r)
          for (int c = 0; c < r; ++c) std::swap(matrix[r][c], matrix[c][r]);
      for (int l = 0; l < kLanes; ++l)
        std::memcpy(&of<LdmatrixOperands>(lanes, l).registers[i * 4 + k], &matrix[l / 4][l % 4 * 2], 4);
    }
  }
  Machine::current().count(&Stats::ldmatrix, static_cast<std::uint64_t>(count) - 1);  // one is the meeting's
}

void warp(void* const*) {}

}  // namespace

constexpr Collective kWarp{"warp", warp, &Stats::shuffles};
constexpr Collective kShuffleXor{"shuffle_xor", shuffle_xor, &Stats::shuffles};
constexpr Collective kBallot{"ballot", ballot, &Stats::votes};
constexpr Collective kLdmatrixX4{"ldmatrix_x4", ldmatrix_x4<false>, &Stats::ldmatrix};
constexpr Collective kLdmatrixX4Trans{"ldmatrix_x4_trans", ldmatrix_x4<true>, &Stats::ldmatrix};

}  // namespace flashfit::emu
