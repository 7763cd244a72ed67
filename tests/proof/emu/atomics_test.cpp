// Atomics on global memory: what they compute, and what they order between blocks. Each wrong program here is one that
// a GPU nearly always gets right.
#include <array>
#include <cstdint>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

using arch::MemoryOrder;

/// Apart, so that what lies past one is not the next one's.
struct Numbers {
  alignas(16) float y[64] = {}, after_y[16] = {};
  alignas(16) int flag[16] = {}, after_flag[16] = {};
  alignas(16) uint32 word[4] = {}, after_word[16] = {};
  alignas(16) uint64 wide[4] = {};
};
struct Shared {
  alignas(128) float tile[64];
  MBarrier full;
};

/// `blocks` blocks that may write all of x.
template <int Threads, class Body>
Result<emu::Stats> run_blocks(int blocks, Numbers& x, Body, const emu::Options& options = {}) {
  emu::Memory memory;
  memory.writable("y", x.y, sizeof x.y).writable("flag", x.flag, sizeof x.flag);
  memory.writable("word", x.word, sizeof x.word).writable("wide", x.wide, sizeof x.wide);
  return emu::launch<SmallKernel<Threads, Numbers, Body, Shared>>({blocks, 1, 1}, &x, memory, options);
}

constexpr emu::Schedule kSchedules[] = {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom};

TEST(Atomics, ComputeWhatTheySay) {
  Numbers x;
  x.flag[0] = -5;
  x.word[0] = 0xffffffffu;
  x.wide[0] = 0x1'0000'0000u;
  const auto ran = run_blocks<32>(1, x, [](Numbers& n) {
    if (arch::lane() != 0) return;
    constexpr auto kRelaxed = MemoryOrder::kRelaxed;
    n.flag[8] = arch::atomic_add<kRelaxed>(n.flag, 0, 3);                    // -5, then -2
    n.flag[9] = arch::atomic_max<kRelaxed>(n.flag, 0, 1);                    // -2, then 1: signed
    n.flag[10] = arch::atomic_max<kRelaxed>(n.flag, 0, -7);                  // 1 stays
    n.flag[11] = arch::atomic_exchange<kRelaxed>(n.flag, 0, 9);              // 1, then 9
    n.flag[12] = arch::atomic_compare_exchange<kRelaxed>(n.flag, 0, -9, 4);  // 9 stays
    n.flag[13] = arch::atomic_compare_exchange<kRelaxed>(n.flag, 0, 9, -4);  // 9, then -4
    arch::atomic_max<kRelaxed>(n.word, 0, 1u);                               // unsigned: stays
    arch::reduce_add<kRelaxed>(n.word, 0, 2u);                               // wraps to 1
    arch::reduce_add<kRelaxed>(n.wide, 0, uint64{0xffffffff});
    arch::atomic_add<kRelaxed>(n.y, 0, 1.5f);
    arch::reduce_add<kRelaxed>(n.y, 0, 2.f);
    arch::store_release(n.wide, 1, uint64{7} << 40);
    n.wide[2] = arch::load_acquire(n.wide, 1);
  });
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(x.flag[0], -4);
  EXPECT_EQ((std::array{x.flag[8], x.flag[9], x.flag[10], x.flag[11], x.flag[12], x.flag[13]}),
            (std::array{-5, -2, 1, 1, 9, 9}));
  EXPECT_EQ(x.word[0], 1u);
  EXPECT_EQ(x.wide[0], 0x1'ffff'ffffu);
  EXPECT_EQ(x.y[0], 3.5f);
  EXPECT_EQ(x.wide[2], uint64{7} << 40);
  EXPECT_EQ(ran->atomics, 13u);
}

TEST(Atomics, AreOneStepEachOnAnyHostThread) {
  Numbers x;
  const auto ran = run_blocks<32>(500, x,
                                  [](Numbers& n) {
                                    arch::atomic_add<MemoryOrder::kAcqRel>(n.flag, 0, 1);
                                    arch::reduce_add<MemoryOrder::kRelaxed>(n.y, 0, 1.f);
                                    arch::atomic_max<MemoryOrder::kRelaxed>(n.word, 0, uint32(arch::block().x));
                                  },
                                  {.host_threads = 4});
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(x.flag[0], 500 * 32);
  EXPECT_EQ(x.y[0], 500 * 32);
  EXPECT_EQ(x.word[0], 499u);
}

/// The last of four blocks to add to a counter sums what the others left.
template <MemoryOrder Order, bool Barrier>
Result<emu::Stats> sum_in_last_block(Numbers& x, emu::Schedule schedule) {
  return run_blocks<32>(4, x,
                        [](Numbers& n) {
                          const int64 mine = arch::block().x * 2;
                          arch::store_if(arch::lane() == 30, n.y, mine, 1.f);
                          arch::store_if(arch::lane() == 31, n.y, mine + 1, 1.f);
                          if constexpr (Barrier) arch::sync_block();
                          int before = 0;
                          if (arch::lane() == 31) before = arch::atomic_add<Order>(n.flag, 0, 1);
                          if (!arch::sync_block_or(before == 3)) return;
                          const float part = arch::load(n.y, arch::lane() % 8);
                          arch::store_if(arch::lane() < 8, n.y, 32 + arch::lane(), part);
                        },
                        {.schedule = schedule, .seed = 3});
}

TEST(Atomics, OrderBlocksByAcquireAndRelease) {
  for (const emu::Schedule schedule : kSchedules) {
    Numbers x;
    const auto sound = sum_in_last_block<MemoryOrder::kAcqRel, true>(x, schedule);
    ASSERT_TRUE(sound) << sound.error().message;
    for (int i = 0; i < 8; ++i) EXPECT_EQ(x.y[32 + i], 1);
    const auto wrong = [](const auto& ran) {
      expect_finding(ran, "block (3,0,0)", "load reads 4 bytes at byte", "which store_if of block (",
                     "wrote: no synchronisation between them");
    };
    wrong(sum_in_last_block<MemoryOrder::kRelaxed, true>(x = {}, schedule));
    wrong(sum_in_last_block<MemoryOrder::kAcquire, true>(x = {}, schedule));
    wrong(sum_in_last_block<MemoryOrder::kRelease, true>(x = {}, schedule));
    // What another lane wrote is not this one's to release.
    expect_finding(sum_in_last_block<MemoryOrder::kAcqRel, false>(x = {}, schedule), "which store_if of block (",
                   "lane 30", "no synchronisation between them");
  }
}

/// Block 0 leaves a number and says so; block 1 waits for that.
template <class Tell, class Wait>
Result<emu::Stats> tell_next_block(Tell, Wait) {
  Numbers x;
  return run_blocks<32>(2, x, [](Numbers& n) {
    if (arch::lane() != 0) return;
    if (arch::block().x == 0) {
      arch::store_if(true, n.y, 0, 1.f);
      Tell{}(n);
    } else {
      Wait{}(n);
      arch::load(n.y, 0);
    }
  });
}

TEST(Atomics, FlagsNeedBothSides) {
  constexpr auto kRelease = [](Numbers& n) { arch::store_release(n.flag, 0, 1); };
  constexpr auto kAcquire = [](Numbers& n) {
    while (arch::load_acquire(n.flag, 0) == 0) continue;
  };
  const auto sound = tell_next_block(kRelease, kAcquire);
  EXPECT_TRUE(sound) << sound.error().message;
  expect_finding(tell_next_block(kRelease,
                                 [](Numbers& n) {
                                   while (arch::atomic_add<MemoryOrder::kRelaxed>(n.flag, 0, 0) == 0) continue;
                                 }),
                 "load reads 4 bytes at byte 0 of y", "no synchronisation");
  expect_finding(
      tell_next_block([](Numbers& n) { arch::atomic_exchange<MemoryOrder::kRelaxed>(n.flag, 0, 1); }, kAcquire),
      "load reads 4 bytes at byte 0 of y", "no synchronisation");
  expect_finding(tell_next_block([](Numbers& n) { arch::store_if(true, n.flag, 0, 1); }, kAcquire),
                 "load_acquire reads 4 bytes at byte 0 of flag", "which store_if of block (0,0,0)", "wrote: no sync");
  expect_finding(tell_next_block(kRelease,
                                 [](Numbers& n) {
                                   while (arch::load(n.flag, 0) == 0) continue;
                                 }),
                 "load reads 4 bytes at byte 0 of flag", "which store_release of block (0,0,0)", "wrote: no sync");
  expect_finding(tell_next_block([](Numbers& n) { arch::store_release(n.flag, 1, 1); },
                                 [](Numbers& n) {
                                   arch::store_release(n.flag, 0, 1);
                                   while (arch::load_acquire(n.flag, 0) == 0) continue;
                                 }),
                 "load reads 4 bytes at byte 0 of y", "no synchronisation");
}

/// Block 0 releases, block 1 does `Between` to the flag, block 2 acquires it and reads what block 0 left.
template <class Between>
Result<emu::Stats> pass_on(Between) {
  Numbers x;
  return run_blocks<32>(3, x, [](Numbers& n) {
    if (arch::lane() != 0) return;
    if (arch::block().x == 0) {
      arch::store_if(true, n.y, 0, 1.f);
      arch::store_release(n.flag, 0, 1);
    } else if (arch::block().x == 1) {
      Between{}(n);
    } else {
      arch::load_acquire(n.flag, 0);
      arch::load(n.y, 0);
    }
  });
}

TEST(Atomics, WhatOthersMakeOfAReleasedNumberPassesItOn) {
  EXPECT_TRUE(pass_on([](Numbers& n) { arch::atomic_add<MemoryOrder::kRelaxed>(n.flag, 0, 1); }));
  EXPECT_TRUE(pass_on([](Numbers& n) { arch::reduce_add<MemoryOrder::kRelease>(n.flag, 0, 1); }));
  EXPECT_TRUE(pass_on([](Numbers& n) { arch::atomic_compare_exchange<MemoryOrder::kRelaxed>(n.flag, 0, 5, 6); }));
  expect_finding(pass_on([](Numbers& n) { arch::store_release(n.flag, 0, 2); }), "block (2,0,0)",
                 "load reads 4 bytes at byte 0 of y", "store_if of block (0,0,0)", "no synchronisation");
  // What a block acquired and then releases is passed on too.
  EXPECT_TRUE(pass_on([](Numbers& n) {
    arch::load_acquire(n.flag, 0);
    arch::store_release(n.flag, 0, 2);
  }));
}

TEST(Atomics, OrderEnginesBehindAFence) {
  constexpr auto kRun = []<bool Fence>() {
    Numbers x;
    return run_blocks<32>(2, x, [](Numbers& n) {
      auto& s = arch::shared<Shared>();
      if (arch::lane() != 0) return;
      if (arch::block().x == 0) {
        arch::store_shared(s.tile, 0, 1.f);
        for (int i = 0; i < 4; ++i) arch::store_if(true, n.y, i, 1.f);
        arch::store_release(n.flag, 0, 1);
        return;
      }
      for (int i = 0; i < 4; ++i) arch::store_shared(s.tile, i, 2.f);
      arch::fence_proxy_async();
      arch::load_acquire(n.flag, 0);
      if constexpr (Fence) arch::fence_proxy_async_global();
      arch::copy_bulk_to_global(n.y, 0, s.tile, 0, 16);
      arch::bulk_commit();
      arch::bulk_wait<0>();
    });
  };
  const auto sound = kRun.operator()<true>();
  EXPECT_TRUE(sound) << sound.error().message;
  expect_finding(kRun.operator()<false>(), "copy_bulk_to_global writes 16 bytes at byte 0 of y",
                 "store_if of block (0,0,0)", "no fence.proxy.async of global memory between them");
}

TEST(Atomics, RaceWithPlainAccessesAndNotWithAdditions) {
  Numbers x;
  expect_finding(run_blocks<32>(2, x,
                                [](Numbers& n) {
                                  if (arch::lane() != 0) return;
                                  if (arch::block().x == 0) arch::store_if(true, n.flag, 3, 0);
                                  if (arch::block().x == 1) arch::atomic_add<MemoryOrder::kAcqRel>(n.flag, 3, 1);
                                }),
                 "atomic_add changes 4 bytes at byte 12 of flag", "store_if of block (0,0,0)", "no synchronisation");
  const auto added = run_blocks<32>(2, x, [](Numbers& n) {
    auto& s = arch::shared<Shared>();
    if (arch::lane() != 0) return;
    for (int i = 0; i < 4; ++i) arch::store_shared(s.tile, i, 1.f);
    arch::fence_proxy_async();
    arch::reduce_add_bulk(n.y, 0, s.tile, 0, 16);
    arch::bulk_commit();
    arch::bulk_wait<0>();
    arch::reduce_add<MemoryOrder::kRelaxed>(n.y, 0, 1.f);
  });
  ASSERT_TRUE(added) << added.error().message;
  EXPECT_EQ(x.y[0], 4);
}

TEST(Atomics, StayInsideAndAligned) {
  Numbers x;
  expect_finding(run_blocks<32>(1, x, [](Numbers& n) { arch::atomic_add<MemoryOrder::kRelaxed>(n.flag, 16, 1); }),
                 "writes 4 bytes at byte 0 past the end of flag");
  expect_finding(run_blocks<32>(1, x, [](Numbers& n) { arch::load_acquire(n.flag, -1); }), "reads 4 bytes at");
  expect_finding(run_blocks<32>(1, x,
                                [](Numbers& n) {
                                  arch::atomic_add<MemoryOrder::kRelaxed>(
                                      reinterpret_cast<uint64*>(reinterpret_cast<char*>(n.flag) + 4), 0, uint64{1});
                                }),
                 "which is not aligned to 8");
}

TEST(Atomics, WaitingForALaterBlockIsAFinding) {
  Numbers x;
  expect_finding(run_blocks<32>(2, x,
                                [](Numbers& n) {
                                  if (arch::lane() != 0) return;
                                  if (arch::block().x == 1) arch::store_release(n.flag, 0, 1);
                                  while (arch::load_acquire(n.flag, 0) == 0) continue;
                                }),
                 "block (0,0,0)", "load_acquire asks for ever");
}

/// One warp's copies must land while another asks for the news of them.
TEST(Atomics, AThreadThatAsksGivesEnginesTime) {
  for (const emu::Schedule schedule : kSchedules) {
    Numbers x;
    for (int i = 0; i < 4; ++i) x.y[i] = 3;
    const auto ran = run_blocks<64>(1, x,
                                    [](Numbers& n) {
                                      auto& s = arch::shared<Shared>();
                                      if (arch::thread() == 0) arch::mbarrier_init(s.full, 1);
                                      if (arch::thread() == 0) arch::fence_mbarrier_init();
                                      arch::sync_block();
                                      if (arch::lane() != 0) return;
                                      if (arch::thread() == 0) {
                                        while (arch::load_acquire(n.flag, 0) == 0) continue;
                                        arch::store_if(true, n.y, 8, arch::load(n.y, 4) + 1);
                                        return;
                                      }
                                      arch::mbarrier_arrive_expect_tx(s.full, 16);
                                      arch::copy_bulk_to_shared(s.tile, 0, n.y, 0, 16, s.full);
                                      arch::mbarrier_wait(s.full, 0);
                                      arch::copy_bulk_to_global(n.y, 4, s.tile, 0, 16);
                                      arch::bulk_commit();
                                      arch::bulk_wait<0>();
                                      arch::store_release(n.flag, 0, 1);
                                    },
                                    {.schedule = schedule, .seed = 3});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(x.y[8], 4);
  }
}

TEST(Atomics, ALockThatWarpsOfABlockTake) {
  for (const emu::Schedule schedule : kSchedules) {
    Numbers x;
    const auto ran =
        run_blocks<128>(2, x,
                        [](Numbers& n) {
                          if (arch::lane() != 0) return;
                          while (arch::atomic_compare_exchange<MemoryOrder::kAcquire>(n.flag, 0, 0, 1) != 0) continue;
                          const float y = arch::load(n.y, 0);
                          arch::sync_warp(1);
                          arch::store_if(true, n.y, 0, y + 1);
                          arch::store_release(n.flag, 0, 0);
                        },
                        {.schedule = schedule, .seed = 5});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(x.y[0], 8);
  }
}

}  // namespace
}  // namespace flashfit::testing
