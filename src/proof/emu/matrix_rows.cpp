#include "proof/emu/matrix_rows.hpp"

#include <cstring>

#include "proof/emu/machine.hpp"

namespace flashfit::emu {
bool has_poison(std::uintptr_t from) {
  constexpr std::uint64_t kOnes = 0x0001000100010001u;
  std::uint64_t words[2];
  std::memcpy(words, reinterpret_cast<const void*>(from), sizeof words);
  std::uint64_t zeros = 0;  // a borrow's mark where a number is 0, after the poison has been taken off
  for (const std::uint64_t word : words) {
    const std::uint64_t rest = word ^ kOnes * SharedMemory::kPoison;
    zeros |= (rest - kOnes) & ~rest & kOnes << 15;
  }
  return zeros != 0;
}

void check_rows(const MatrixRows& rows, const char* name) {
  Machine& machine = Machine::current();
  const auto base = reinterpret_cast<std::uintptr_t>(machine.shared());
  std::int32_t offsets[kLanes];
  for (int l = 0; l < kLanes; ++l) {
    offsets[l] = static_cast<std::int32_t>(rows[l] - base);
    if (has_poison(rows[l])) machine.stop_at_poison(name, offsets[l], 16, machine.collective_site());
  }
  machine.count_bank_conflicts(name, offsets, 16, &Stats::ldmatrix_bank_conflicts);
}

}  // namespace flashfit::emu
