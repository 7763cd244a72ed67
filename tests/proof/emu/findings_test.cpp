// What is wrong ends the launch with one line that says where.
#include <array>
#include <cstring>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Buffer {
  alignas(16) f16 data[64];
};
struct Tile {
  f16 data[64];
};

emu::Memory memory_of(Buffer& b) { return std::move(emu::Memory().writable("x", b.data, sizeof b.data)); }

TEST(Findings, NameKernelPlaceScheduleAndLine) {
  Buffer b{};
  const auto ran =
      run_block<64>(b,
                    [](Buffer& x) {
                      if (arch::thread() == 37) arch::load(x.data, 64);
                    },
                    memory_of(b), {.kernel = "some_kernel", .schedule = emu::Schedule::kRandom, .seed = 99});
  expect_finding(ran, "some_kernel: block (0,0,0) warp 1 lane 5 (random, seed 99): findings_test.cpp:",
                 "reads 2 bytes at byte 0 past the end of x (128 bytes)");
}

TEST(Findings, StoresOutside) {
  Buffer b{};
  expect_finding(run_block<32>(
                     b, [](Buffer& x) { arch::store_if(arch::lane() == 3, x.data, -2, 1.f); }, memory_of(b)),
                 "lane 3", "writes 4 bytes at 4 bytes before x");
  expect_finding(run_block<32>(
                     b, [](Buffer& x) { arch::store_if(true, x.data, 63, 1.f); }, memory_of(b)),
                 "writes 4 bytes at byte 126 of x");
  expect_finding(
      run_block<32>(b, [](Buffer& x) { arch::store_if(true, x.data, 1, 1.f); }, memory_of(b)), "not aligned to 4");
  EXPECT_TRUE(run_block<32>(b, [](Buffer& x) { arch::store_if(false, x.data, 640, 1.f); }, memory_of(b)));
}

TEST(Findings, WhatMayOnlyBeRead) {
  Buffer b{};
  const auto ran = run_block<32>(
      b, [](Buffer& x) { arch::store_if(true, x.data, 0, 1.f); }, emu::Memory().read_only("x", b.data, sizeof b.data));
  expect_finding(ran, "writes 4 bytes at byte 0 of x (read-only, 128 bytes)");
}

TEST(Findings, MemoryOfNoTensor) {
  Buffer b{};
  expect_finding(run_block<32>(b, [](Buffer& x) { arch::load(x.data, 0); }), "an address of no tensor");
  const auto empty =
      run_block<32>(b, [](Buffer& x) { arch::load(x.data, 0); }, emu::Memory().read_only("x", b.data, 0));
  expect_finding(empty, "byte 0 past the end of x (read-only, 0 bytes)");
}

TEST(Findings, CopiesOutsideOrUnaligned) {
  Buffer b{};
  const auto copy = [&](auto body) { return run_block<32, Tile>(b, body, memory_of(b)); };
  expect_finding(copy([](Buffer& x) { arch::cp_async_16(arch::shared<Tile>().data, 0, x.data, 60, true); }),
                 "byte 120 of x");
  expect_finding(copy([](Buffer& x) { arch::cp_async_16(arch::shared<Tile>().data, 0, x.data, 4, true); }),
                 "byte 8 of x", "not aligned to 16");
  expect_finding(copy([](Buffer& x) { arch::cp_async_16(arch::shared<Tile>().data, 60, x.data, 0, true); }),
                 "touches 16 bytes at byte 120 of a shared memory of 128");
  expect_finding(copy([](Buffer& x) { arch::cp_async_16(arch::shared<Tile>().data, 4, x.data, 0, true); }),
                 "byte 8 of shared memory, which is not aligned");
  EXPECT_TRUE(copy([](Buffer& x) {
    if (arch::lane() == 0) arch::cp_async_16(arch::shared<Tile>().data, 0, x.data, 999, false);
  }));
}

TEST(Findings, LdmatrixOutside) {
  Buffer b{};
  const auto ran = run_block<32, Tile>(b, [](Buffer&) {
    uint32 r[4];
    arch::ldmatrix_x4(r, arch::shared<Tile>().data, arch::lane() * 8 - 8);
  });
  expect_finding(ran, "lane 0 (round robin", "touches 16 bytes at byte -16 of a shared memory of 128");
}

TEST(Findings, WritesPastTheStruct) {
  Buffer b{};
  const auto ran = run_block<32, Tile>(b, [](Buffer&) {
    // Through a pointer that the compiler cannot see to be outside.
    unsigned char* const bytes = reinterpret_cast<unsigned char*>(&arch::shared<Tile>());
    if (arch::lane() == 0) std::memset(bytes + sizeof(Tile) + arch::lane(), 0, 4);
  });
  expect_finding(ran, "wrote outside its shared memory of 128 bytes");
}

TEST(Findings, FreshSharedMemoryIsPoison) {
  Buffer b{};
  ASSERT_TRUE(
      (run_block<32, Tile>(b, [](Buffer& x) { x.data[arch::lane()] = arch::shared<Tile>().data[arch::lane()]; })));
  for (int l = 0; l < 32; ++l) EXPECT_EQ(b.data[l].bits, emu::SharedMemory::kPoison);
}

TEST(Findings, FreshSharedMemoryIsReadByALoad) {
  Buffer b{};
  expect_finding(run_block<32, Tile>(
                     b,
                     [](Buffer&) {
                       Tile& s = arch::shared<Tile>();
                       if (arch::lane() != 9) arch::store_shared(s.data, arch::lane() * 2, 0u);
                       arch::load_shared<uint32>(s.data, arch::lane() * 2);
                     },
                     memory_of(b)),
                 "lane 9", "load_shared reads bytes 36-39 of shared memory, some of which nothing has written");
}

TEST(Findings, LanesThatMeetAtDifferentPlaces) {
  Buffer b{};
  const auto two_sites = run_block<32>(b, [](Buffer&) {
    const auto here = [] { arch::shuffle_xor(0, 1); };
    const auto there = [] { arch::shuffle_xor(0, 1); };
    arch::lane() < 16 ? here() : there();
  });
  expect_finding(two_sites, "lane 16", "shuffle_xor while lanes 0-15 wait in shuffle_xor at findings_test.cpp:");
  const auto two_kinds = run_block<32>(b, [](Buffer&) {
    if (arch::lane() % 2 == 0)
      arch::ballot(true);
    else
      arch::shuffle_xor(0, 1);
  });
  expect_finding(two_kinds, "lane 1 ", "shuffle_xor while lane 0 wait in ballot");
  const auto two_barriers = run_block<32>(b, [](Buffer&) {
    const auto here = [] { arch::sync_block(); };
    const auto there = [] { arch::sync_block(); };
    arch::lane() == 0 ? here() : there();
  });
  expect_finding(two_barriers, "sync_block while lane 0 of its warp wait in the one at findings_test.cpp:");
}

TEST(Findings, ShufflesFromNoLane) {
  Buffer b{};
  expect_finding(run_block<32>(b, [](Buffer&) { arch::shuffle_xor(0, 32); }),
                 "shuffle_xor by 32, asked for by lane 0: 0 to 31 are accepted");
  expect_finding(run_block<32>(b, [](Buffer&) { arch::shuffle_xor(0, -1); }), "shuffle_xor by -1");
}

TEST(Findings, LanesThatLeft) {
  Buffer b{};
  const auto early = run_block<32>(b, [](Buffer&) {
    if (arch::lane() != 0) arch::ballot(true);
  });
  expect_finding(early, "ballot without lane 0, which left the kernel");
  const auto late = run_block<32>(b, [](Buffer&) {
    if (arch::lane() != 31) arch::ballot(true);
  });
  expect_finding(late, "lane 31", "left while lanes 0-30 of its warp wait in ballot");
}

TEST(Findings, DeadlockSaysWhoWaitsForWhat) {
  Buffer b{};
  const auto ran = run_block<64>(b, [](Buffer&) {
    if (arch::warp() == 0 && arch::lane() >= 4)
      arch::ballot(true);
    else
      arch::sync_block();
  });
  expect_finding(ran, "deadlock",
                 "warp 0 lanes 4-31 wait in ballot at findings_test.cpp:", "warp 0 lanes 0-3 wait in sync_block",
                 "warp 1 lanes 0-31 wait in sync_block");
}

TEST(Findings, ABarrierWaitsForLivingThreadsAlone) {
  Buffer b{};
  EXPECT_TRUE(run_block<64>(b, [](Buffer&) {
    if (arch::warp() == 1) return;
    arch::sync_block();
    arch::ballot(true);
  }));
}

TEST(Findings, ALaunchAfterAFindingIsSound) {
  Buffer b{};
  for (int i = 0; i < 3; ++i) {
    expect_finding(run_block<64>(b, [](Buffer& x) { arch::load(x.data, 64); }, memory_of(b)), "past the end of x");
    EXPECT_TRUE(run_block<64>(
        b,
        [](Buffer& x) {
          arch::load(x.data, 63);
          arch::sync_block();
        },
        memory_of(b)));
  }
}

[[gnu::noinline]] int use_stack(int depth) {
  volatile char frame[4096];
  for (volatile char& c : frame) c = static_cast<char>(depth);
  return depth > 0 ? use_stack(depth - 1) + frame[depth] : 0;
}

TEST(Findings, StackThatRanOut) {
  Buffer b{};
  const auto ran = run_block<64>(b, [](Buffer&) {
    // The last thread's neighbour below has ended and left nothing that could be damaged.
    if (arch::thread() == 63) use_stack(15);
  });
  expect_finding(ran, "warp 1 lane 31", "bytes of stack");
}

}  // namespace
}  // namespace flashfit::testing
