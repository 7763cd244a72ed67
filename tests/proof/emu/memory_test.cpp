// What the machine says of memory beyond bounds: reads of what nobody wrote, bytes moved, bank conflicts, the GPU's
// limit.
#include <array>
#include <cstring>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Tile {
  alignas(128) f16 data[32 * 64];  ///< 128 bytes a row: all rows start in bank 0
};
struct Source {
  alignas(16) f16 data[32 * 64] = {};
};

emu::Memory memory_of(Source& s) { return std::move(emu::Memory().read_only("x", s.data, sizeof s.data)); }

TEST(Poison, LdmatrixOfFreshMemoryIsNamed) {
  Source source;
  const auto ran = run_block<32, Tile>(source, [](Source&) {
    auto& s = arch::shared<Tile>();
    if (arch::lane() != 5) std::memset(s.data + arch::lane() * 8, 0, 16);
    arch::sync_block();
    uint32 r[4];
    arch::ldmatrix_x4(r, s.data, arch::lane() * 8);
  });
  expect_finding(ran, "memory_test.cpp:", "ldmatrix_x4 reads bytes 80-95 of shared memory, some of which nothing has");
}

TEST(Poison, LdmatrixBeforeTheWaitNamesTheCopy) {
  Source source;
  const auto ran = run_block<32, Tile>(
      source,
      [](Source& x) {
        auto& s = arch::shared<Tile>();
        arch::cp_async_16(s.data, arch::lane() * 8, x.data, arch::lane() * 8, true);
        arch::cp_async_commit();
        arch::sync_block();
        uint32 r[4];
        arch::ldmatrix_x4(r, s.data, arch::lane() * 8);
      },
      memory_of(source));
  expect_finding(
      ran, "reads bytes 0-15 of shared memory, which warp 0 lane 0's copy of memory_test.cpp:", "has yet to fill");
}

TEST(Poison, OperandsThatMmaLoadsAreNamed) {
  Source source;
  const auto ran = run_block<32, Tile>(source, [](Source&) {
    auto& s = arch::shared<Tile>();
    if (arch::lane() != 5) std::memset(s.data + arch::lane() * 8, 0, 16);
    arch::sync_block();
    const uint32 a[1][4] = {};
    float d[1][2][4] = {};
    arch::mma_m16n8k16<f16>(d, a, s.data, [](int) { return arch::lane() * 8; }, [](int) {});
  });
  expect_finding(ran, "memory_test.cpp:", "ldmatrix_x4 reads bytes 80-95 of shared memory, some of which nothing has");
}

#ifdef FLASHFIT_UNWRITTEN
TEST(Poison, RegistersThatNothingWroteAreNamed) {
  Source source;
  const auto ran = run_block<32>(source, [](Source&) {
    uint32 a[4];
    float d[4] = {};
    for (int i = 0; i < (arch::lane() == 7 ? 2 : 4); ++i) a[i] = 0;
    arch::mma_m16n8k16<f16>(d, a, 0, 0);
  });
  expect_finding(ran, "mma_m16n8k16: lane 7's a[2] was never written");
}
#endif

TEST(Counters, AreThoseOfTheInstructions) {
  Source source;
  const auto ran = run_block<32, Tile>(
      source,
      [](Source& x) {
        auto& s = arch::shared<Tile>();
        const int lane = arch::lane();
        arch::cp_async_16(s.data, lane * 64, x.data, lane * 64, lane != 0);
        arch::cp_async_commit();
        arch::cp_async_wait<0>();
        arch::sync_block();
        uint32 r[4];
        arch::ldmatrix_x4(r, s.data, lane * 64);
      },
      memory_of(source));
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->global_bytes_read, 31u * 16);
  EXPECT_EQ(ran->global_bytes_written, 0u);
  EXPECT_EQ(ran->shared_bytes_written, 32u * 16);
  EXPECT_EQ(ran->shared_bytes_read, 32u * 16);
  EXPECT_EQ(ran->copy_bank_conflicts, 28u) << "each quarter warp eight times";
  EXPECT_EQ(ran->ldmatrix_bank_conflicts, 28u);
  EXPECT_NE(ran->worst_bank_conflicts.find(": 28"), std::string::npos) << ran->worst_bank_conflicts;
}

TEST(Counters, ConflictsOfStmatrix) {
  Source source;
  const auto ran = run_block<32, Tile>(source, [](Source&) {
    const uint32 r[4] = {};
    Tile& s = arch::shared<Tile>();
    arch::stmatrix_x4(s.data, arch::lane() * 8, r);  // rows side by side
    arch::sync_block();
    arch::stmatrix_x4(s.data, arch::lane() * 64, r);  // rows of 128 bytes: eight of a quarter in four banks
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->stmatrix, 2u);
  EXPECT_EQ(ran->stmatrix_bank_conflicts, 28u);
}

TEST(Counters, ConflictsOfLoadsAndStores) {
  Source source;
  const auto ran = run_block<32, Tile>(source, [](Source&) {
    Tile& s = arch::shared<Tile>();
    arch::store_shared(s.data, arch::lane() * 64, uint32{7});  // 128 bytes apart: one bank
    arch::sync_block();
    arch::load_shared(s.data, arch::lane() / 2 * 64 + arch::lane() % 2);  // two lanes share a word
    arch::sync_block();
    arch::store_shared(s.data, arch::lane() * 2, uint32{8});  // side by side
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->access_bank_conflicts, 31u + 15u);
  EXPECT_THAT(ran->worst_bank_conflicts, ::testing::StartsWith("store_shared at memory_test.cpp:"));
}

TEST(Counters, HaveNamesOfTheirOwn) {
  for (const emu::Counter& a : emu::kCounters)
    for (const emu::Counter& b : emu::kCounters) {
      EXPECT_EQ(&a == &b, std::strcmp(a.name, b.name) == 0) << a.name;
    }
}

TEST(SharedLimit, ALargerStructIsRefused) {
  Source source;
  const auto ran = run_block<32, Tile>(source, [](Source&) {}, {}, {.kernel = "k", .shared_limit = 4095});
  expect_finding(ran, "k: 4096 bytes of shared memory, more than the 4095 that the GPU gives a block");
}

TEST(SharedLimit, AWriteFarPastTheStructIsFound) {
  Source source;
  const auto ran = run_block<32, Tile>(source, [](Source&) {
    // Through a pointer that the compiler cannot see to be outside.
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(&arch::shared<Tile>());
    if (arch::lane() == 0) std::memset(bytes + 100000 + arch::lane(), 0, 4);
  });
  expect_finding(ran, "wrote outside its shared memory of 4096 bytes, at byte 100000");
}

}  // namespace
}  // namespace flashfit::testing
