// Bank conflicts against counts made by hand.
#include "proof/emu/banks.hpp"

#include <gtest/gtest.h>

#include <vector>

namespace flashfit::testing {
namespace {

/// Offsets of so many lanes, `stride` bytes apart.
std::vector<std::int32_t> strided(int lanes, int stride) {
  std::vector<std::int32_t> offsets;
  for (int l = 0; l < lanes; ++l) offsets.push_back(l * stride);
  return offsets;
}

TEST(BankConflicts, WordsOfOneBankTakeTurns) {
  EXPECT_EQ(emu::bank_conflicts(strided(32, 4), 4), 0);
  EXPECT_EQ(emu::bank_conflicts(strided(32, 8), 4), 1);
  EXPECT_EQ(emu::bank_conflicts(strided(32, 128), 4), 31);
  EXPECT_EQ(emu::bank_conflicts(strided(32, 132), 4), 0) << "padded by a word";
  EXPECT_EQ(emu::bank_conflicts(strided(32, 0), 4), 0) << "one word for all";
  EXPECT_EQ(emu::bank_conflicts(strided(32, 2), 2), 0) << "two lanes a word";
}

TEST(BankConflicts, WideAccessesAreServedInParts) {
  EXPECT_EQ(emu::bank_conflicts(strided(32, 8), 8), 0);
  EXPECT_EQ(emu::bank_conflicts(strided(32, 16), 8), 2) << "each half warp once more";
  EXPECT_EQ(emu::bank_conflicts(strided(32, 16), 16), 0);
  EXPECT_EQ(emu::bank_conflicts(strided(32, 128), 16), 4 * 7) << "rows of 64 halves: eight of a quarter in four banks";
  EXPECT_EQ(emu::bank_conflicts(strided(32, 64), 16), 4 * 3);
  EXPECT_EQ(emu::bank_conflicts(strided(32, 144), 16), 0) << "padded by 16 bytes";
}

TEST(BankConflicts, AbsentLanesTakeNoPart) {
  std::vector<std::int32_t> offsets = strided(32, 128);
  for (std::size_t l = 2; l < 32; ++l) offsets[l] = -1;
  EXPECT_EQ(emu::bank_conflicts(offsets, 4), 1);
  EXPECT_EQ(emu::bank_conflicts({}, 4), 0);
}

TEST(BankConflicts, LanesOnTheirOwnAreMatchedByTurn) {
  emu::BankConflicts banks(2);
  const emu::LaneAccess copy{"cp_async_16", emu::Site("some/kernel.cuh", 17), 16, &emu::Stats::copy_bank_conflicts};
  // Lane after lane, two copies each: together they are two instructions, the second eight-fold.
  for (int l = 0; l < 32; ++l) {
    banks.add_lane(1, l, copy, l * 16);
    banks.add_lane(1, l, copy, l * 128);
  }
  emu::Stats stats;
  banks.converge(0, stats);
  EXPECT_EQ(stats.copy_bank_conflicts, 0u);
  EXPECT_EQ(banks.worst(), "");
  banks.converge(1, stats);
  EXPECT_EQ(stats.copy_bank_conflicts, 28u);
  banks.converge(1, stats);
  EXPECT_EQ(stats.copy_bank_conflicts, 28u) << "counted once";
  EXPECT_EQ(banks.worst(), "cp_async_16 at kernel.cuh:17: 28");
}

TEST(BankConflicts, TheWorstLineIsNamed) {
  emu::BankConflicts banks(1);
  EXPECT_EQ(banks.add("a", emu::Site("k.cuh", 1), strided(32, 8), 4), 1);
  EXPECT_EQ(banks.add("a", emu::Site("k.cuh", 2), strided(32, 16), 4), 3);
  EXPECT_EQ(banks.add("a", emu::Site("k.cuh", 1), strided(32, 8), 4), 1);
  EXPECT_EQ(banks.add("b", emu::Site("k.cuh", 1), strided(32, 8), 4), 1);
  EXPECT_EQ(banks.worst(), "a at k.cuh:2: 3");
}

}  // namespace
}  // namespace flashfit::testing
