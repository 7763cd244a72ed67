// Accesses to global memory that nothing orders are found, within a block and between blocks; loads that nobody answers
// end; additions of blocks on several host threads are all there.
#include <vector>

#include "core/base/mbarrier.hpp"
#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Numbers {
  alignas(16) float y[64] = {};
};
struct Shared {
  alignas(128) float tile[64];
  MBarrier full;
};

/// `blocks` blocks that may write x.y.
template <int Threads, class Body>
Result<emu::Stats> run_blocks(int blocks, Numbers& x, Body, const emu::Options& options = {}) {
  emu::Memory memory;
  memory.writable("y", x.y, sizeof x.y);
  return emu::launch<SmallKernel<Threads, Numbers, Body, Shared>>({blocks, 1, 1}, &x, memory, options);
}

constexpr auto kAddWithoutAtomics = [](Numbers& x) {
  if (arch::thread() == 5) arch::store_if(true, x.y, 3, arch::load(x.y, 3) + 1);
};

TEST(GlobalRaces, BlocksThatAddWithoutAtomics) {
  Numbers x;
  expect_finding(run_blocks<32>(4, x, kAddWithoutAtomics), "block (1,0,0) warp 0 lane 5",
                 "load reads 4 bytes at byte 12 of y (256 bytes), which store_if of block (0,0,0) warp 0 lane 5 at "
                 "global_test.cpp:",
                 "wrote: no synchronisation between them");
  EXPECT_TRUE(run_blocks<32>(1, x, kAddWithoutAtomics)) << "one block has nobody to race with";
  EXPECT_TRUE(run_blocks<32>(4, x, kAddWithoutAtomics, {.global_races = false})) << "nobody looks";
}

TEST(GlobalRaces, AreThoseOfBytes) {
  Numbers x;
  const auto neighbours = run_blocks<32>(64, x, [](Numbers& n) {
    if (arch::lane() == 0) arch::store_if(true, n.y, arch::block().x, arch::load(n.y, arch::block().x) + 2);
  });
  ASSERT_TRUE(neighbours) << neighbours.error().message;
  for (const float y : x.y) EXPECT_EQ(y, 2);
  EXPECT_TRUE(run_blocks<32>(40, x, [](Numbers& n) { arch::load(n.y, arch::lane()); })) << "reads alone";
  expect_finding(run_blocks<32>(2, x,
                                [](Numbers& n) {
                                  if (arch::block().x == 0) arch::load(n.y, arch::lane());
                                  if (arch::block().x == 1) arch::store_if(arch::lane() == 9, n.y, 9, 1.f);
                                }),
                 "store_if writes 4 bytes at byte 36 of y", "load of block (0,0,0) warp 0 lane 9", "read: no sync");
}

template <class Between>
Result<emu::Stats> stored_then_loaded(Between) {
  Numbers x;
  return run_blocks<64>(1, x, [](Numbers& n) {
    arch::store_if(true, n.y, arch::thread(), 1.f);
    Between{}();
    arch::load(n.y, arch::thread() ^ 32);
  });
}

TEST(GlobalRaces, ThreadsOfABlockNeedABarrier) {
  expect_finding(stored_then_loaded([] {}), "store_if writes 4 bytes at byte 128 of y", "load of warp 0 lane 0",
                 "no synchronisation");
  expect_finding(stored_then_loaded([] { arch::sync_warp(); }), "no synchronisation");
  EXPECT_TRUE(stored_then_loaded([] { arch::sync_block(); }));
}

template <class Between>
Result<emu::Stats> stored_then_copied(Between) {
  Numbers x;
  return run_blocks<32>(1, x, [](Numbers& n) {
    auto& s = arch::shared<Shared>();
    if (arch::lane() == 31) arch::mbarrier_init(s.full, 1), arch::fence_mbarrier_init();
    arch::sync_warp();
    arch::store_if(true, n.y, arch::lane(), 1.f);
    Between{}();
    if (arch::lane() == 31) {
      arch::mbarrier_arrive_expect_tx(s.full, 128);
      arch::copy_bulk_to_shared(s.tile, 0, n.y, 0, 128, s.full);
    }
    arch::sync_warp();
    arch::mbarrier_wait(s.full, 0);
  });
}

TEST(GlobalRaces, BulkLoadsOfGenericStoresNeedABarrierAndAFence) {
  expect_finding(stored_then_copied([] { arch::fence_proxy_async_global(); }), "store_if writes 4 bytes at byte 0 of y",
                 "copy_bulk of warp 0 lane 31", "no synchronisation");
  expect_finding(stored_then_copied([] { arch::sync_warp(); }), "copy_bulk reads 128 bytes at byte 0 of y",
                 "no fence.proxy.async of global memory between them");
  expect_finding(stored_then_copied([] {
                   arch::fence_proxy_async();
                   arch::sync_warp();
                 }),
                 "no fence.proxy.async of global memory between them");
  const auto sound = stored_then_copied([] {
    arch::fence_proxy_async_global();
    arch::sync_warp();
  });
  EXPECT_TRUE(sound) << sound.error().message;
}

template <class Wait>
Result<emu::Stats> copied_then_loaded(Wait) {
  Numbers x;
  return run_blocks<32>(1, x, [](Numbers& n) {
    auto& s = arch::shared<Shared>();
    arch::store_shared(s.tile, arch::lane(), 1.f);
    arch::fence_proxy_async();
    arch::sync_warp();
    if (arch::lane() != 0) return;
    arch::copy_bulk_to_global(n.y, 0, s.tile, 0, 128);
    arch::bulk_commit();
    Wait{}();
    arch::load(n.y, 7);
    arch::bulk_wait<0>();
  });
}

TEST(GlobalRaces, BulkStoresAreThereAfterTheirWait) {
  expect_finding(copied_then_loaded([] {}), "load reads 4 bytes at byte 28 of y", "which copy_bulk_to_global",
                 "it was not waited for");
  expect_finding(copied_then_loaded([] { arch::bulk_wait_read<0>(); }), "it was not waited for");
  EXPECT_TRUE(copied_then_loaded([] { arch::bulk_wait<0>(); }));
}

/// Each block adds 64 ones.
constexpr auto kAddOnes = [](Numbers& n) {
  auto& s = arch::shared<Shared>();
  arch::store_shared(s.tile, arch::lane(), 1.f);
  arch::fence_proxy_async();
  arch::sync_warp();
  if (arch::lane() != 0) return;
  arch::reduce_add_bulk(n.y, 0, s.tile, 0, 128);
  arch::bulk_commit();
  arch::bulk_wait<0>();
};

TEST(GlobalAdds, AreOneStepEachOnAnyHostThread) {
  Numbers x;
  const auto ran = run_blocks<32>(1000, x, kAddOnes, {.host_threads = 4});
  ASSERT_TRUE(ran) << ran.error().message;
  for (int i = 0; i < 32; ++i) EXPECT_EQ(x.y[i], 1000);
}

TEST(GlobalAdds, RaceWithPlainStores) {
  Numbers x;
  expect_finding(run_blocks<32>(2, x,
                                [](Numbers& n) {
                                  if (arch::block().x == 0) kAddOnes(n);
                                  if (arch::block().x == 1) arch::store_if(arch::lane() == 0, n.y, 31, 0.f);
                                }),
                 "store_if writes 4 bytes at byte 124 of y", "reduce_add_bulk of block (0,0,0)",
                 "added to: no synchronisation between them");
}

/// The block that sets y[0], and the one that waits for it.
template <int Sets>
constexpr auto kSpin = [](Numbers& n) {
  if (arch::lane() != 0) return;
  if (arch::block().x == Sets) {
    for (int i = 0; i < 300; ++i) arch::sync_warp(1);
    arch::store_if(true, n.y, 0, 1.f);
  } else {
    while (arch::load(n.y, 0) == 0) continue;
  }
};

TEST(Spinning, OnALaterBlockEndsWithAFinding) {
  Numbers x;
  expect_finding(run_blocks<32>(2, x, kSpin<1>), "block (0,0,0) warp 0 lane 0", "load asks for ever",
                 "the last at byte 0 of y (256 bytes): nobody changes them");
}

TEST(Spinning, OnAnEarlierBlockGoesOnWhileThatRuns) {
  for (const int host_threads : {1, 2}) {
    Numbers x;
    const auto ran = run_blocks<32>(2, x, kSpin<0>, {.global_races = false, .host_threads = host_threads});
    EXPECT_TRUE(ran) << ran.error().message;
  }
}

TEST(Spinning, OnSharedMemoryLetsTheOtherWarpRun) {
  Numbers x;
  expect_finding(run_blocks<64>(1, x,
                                [](Numbers&) {
                                  auto& s = arch::shared<Shared>();
                                  if (arch::thread() == 0) arch::store_shared(s.tile, 0, 0.f);
                                  arch::sync_block();
                                  if (arch::lane() != 0) return;
                                  if (arch::thread() == 0) {
                                    while (arch::load_shared(s.tile, 0) == 0) continue;
                                  } else {
                                    arch::store_shared(s.tile, 0, 1.f);
                                  }
                                }),
                 "load_shared reads bytes 0-3 of shared memory, which store_shared of warp 1", "no synchronisation");
}

}  // namespace
}  // namespace flashfit::testing
