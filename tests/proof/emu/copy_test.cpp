// Asynchronous copies land at the wait that orders them, and not before; their groups are those of the thread.
#include <array>
#include <cstring>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Slots {
  f16 slot[4][8];
};

struct Seen {
  alignas(16) f16 source[4][8];
  std::array<std::array<int, 4>, 4> after{};  ///< first element of each slot after each step
};

/// The first elements of all slots.
std::array<int, 4> look(const Slots& s) {
  return {s.slot[0][0].bits, s.slot[1][0].bits, s.slot[2][0].bits, s.slot[3][0].bits};
}

constexpr int kPoison = emu::SharedMemory::kPoison;

TEST(Copies, LandAtTheirWait) {
  Seen seen;
  for (int i = 0; i < 32; ++i) seen.source[i / 8][i % 8].bits = static_cast<unsigned short>(i / 8 + 1);
  emu::Memory memory;
  memory.read_only("source", seen.source, sizeof seen.source);
  const auto ran = run_block<32, Slots>(
      seen,
      [](Seen& to) {
        if (arch::lane() != 0) return;
        auto& s = arch::shared<Slots>();
        std::memset(&s, 0, sizeof s);
        for (int i = 0; i < 3; ++i) {
          arch::cp_async_16(s.slot[0], i * 8, to.source[0], i * 8, i != 1);
          arch::cp_async_commit();
        }
        arch::cp_async_16(s.slot[0], 24, to.source[0], 24, true);
        to.after[0] = look(s);
        arch::cp_async_wait<2>();
        to.after[1] = look(s);
        arch::cp_async_wait<1>();
        to.after[2] = look(s);
        arch::cp_async_wait<0>();
        to.after[3] = look(s);
      },
      memory);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->copies, 4u);
  EXPECT_EQ(seen.after[0], (std::array{kPoison, kPoison, kPoison, kPoison})) << "poisoned at issue";
  EXPECT_EQ(seen.after[1], (std::array{1, kPoison, kPoison, kPoison})) << "the oldest group";
  EXPECT_EQ(seen.after[2], (std::array{1, 0, kPoison, kPoison})) << "zeros for a copy from outside";
  EXPECT_EQ(seen.after[3], (std::array{1, 0, 3, kPoison})) << "what no commit closed never lands";
}

TEST(Copies, AWaitIsForTheThreadsOwn) {
  Seen seen{};
  emu::Memory memory;
  memory.read_only("source", seen.source, sizeof seen.source);
  const auto ran = run_block<32, Slots>(
      seen,
      [](Seen& to) {
        auto& s = arch::shared<Slots>();
        if (arch::lane() < 4) arch::cp_async_16(s.slot[0], arch::lane() * 8, to.source[0], 0, true);
        arch::cp_async_commit();
        if (arch::lane() == 2) arch::cp_async_wait<0>();
        arch::sync_block();
        if (arch::lane() == 0) to.after[0] = look(s);
      },
      memory);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(seen.after[0], (std::array{kPoison, kPoison, 0, kPoison}));
}

}  // namespace
}  // namespace flashfit::testing
