// Shuffles, votes and ldmatrix, for all lanes at once.
#include <algorithm>
#include <cstring>
#include <utility>

#include "emu/collective.hpp"
#include "emu/machine.hpp"

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

/// Whether one of the 16-bit numbers at `from` is poison.
bool has_poison(const void* from) {
  constexpr std::uint64_t kOnes = 0x0001000100010001u;
  std::uint64_t words[2];
  std::memcpy(words, from, sizeof words);
  std::uint64_t zeros = 0;  // a borrow's mark where a number is 0, after the poison has been taken off
  for (const std::uint64_t word : words) {
    const std::uint64_t rest = word ^ kOnes * SharedMemory::kPoison;
    zeros |= (rest - kOnes) & ~rest & kOnes << 15;
  }
  return zeros != 0;
}

/// Counts the bank conflicts of the lanes' rows, and ends the launch if one holds poison.
void check_rows(void* const* lanes, const char* name) {
  Machine& machine = Machine::current();
  std::int32_t offsets[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    const void* const row = of<LdmatrixOperands>(lanes, l).row;
    offsets[l] = static_cast<std::int32_t>(static_cast<const std::byte*>(row) - machine.shared());
    if (has_poison(row)) machine.stop_at_poison(name, offsets[l], 16, machine.collective_site());
  }
  machine.count_bank_conflicts(name, offsets, 16, &Stats::ldmatrix_bank_conflicts);
}

/// Register k of lane l gets row l / 4, columns 2 (l % 4) and the next of matrix k, whose rows the lanes 8 k .. 8 k + 7
/// point to (PTX ISA, "ldmatrix").
template <bool Trans>
void ldmatrix_x4(void* const* lanes) {
  check_rows(lanes, Trans ? "ldmatrix_x4_trans" : "ldmatrix_x4");
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
