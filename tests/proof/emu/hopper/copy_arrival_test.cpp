// Copies of 16 bytes that arrive at mbarriers, and copies into another block's shared memory: what their newcomers
// forget.
#include "../kernel.hpp"
#include "core/base/mbarrier.hpp"

namespace flashfit::testing {
namespace {

struct Source {
  alignas(16) float x[128] = {};
};
struct Shared {
  alignas(128) float tile[128];
  MBarrier full;
};

/// One warp. Lane 0 made the barrier for `Arrivals`.
template <int Arrivals, class Body>
Result<emu::Stats> run(Body, emu::Schedule schedule = emu::Schedule::kRoundRobin) {
  static Source source;
  emu::Memory memory;
  memory.writable("x", source.x, sizeof source.x);
  return run_block<32, Shared>(source,
                               [](Source& from) {
                                 auto& s = arch::shared<Shared>();
                                 if (arch::lane() == 0) arch::mbarrier_init(s.full, Arrivals);
                                 arch::sync_warp();
                                 Body{}(from, s);
                               },
                               memory, {.schedule = schedule, .seed = 3});
}

void copy(Source& from, Shared& s) { arch::cp_async_16(s.tile, arch::lane() * 4, from.x, arch::lane() * 4, true); }
float neighbour(Shared& s) { return arch::load_shared(s.tile, (arch::lane() ^ 1) * 4); }

TEST(CopyArrivals, TellOfCopiesInClosedGroupsOrNot) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    const auto counted = run<32>(
        [](Source& from, Shared& s) {
          copy(from, s);
          if (arch::lane() % 2 == 0) arch::cp_async_commit();
          arch::cp_async_mbarrier_arrive_noinc(s.full);
          arch::mbarrier_wait(s.full, 0);
          neighbour(s);
        },
        schedule);
    EXPECT_TRUE(counted) << counted.error().message;
    const auto own = run<32>(
        [](Source& from, Shared& s) {
          copy(from, s);
          arch::cp_async_mbarrier_arrive(s.full);
          arch::mbarrier_arrive(s.full);
          arch::mbarrier_wait(s.full, 0);
          neighbour(s);
        },
        schedule);
    EXPECT_TRUE(own) << own.error().message;
    // Who waits for the copies by their groups too loses nothing, and others still have the barrier.
    const auto both = run<32>(
        [](Source& from, Shared& s) {
          copy(from, s);
          arch::cp_async_commit();
          arch::cp_async_mbarrier_arrive_noinc(s.full);
          arch::cp_async_wait<0>();
          arch::load_shared(s.tile, arch::lane() * 4);
          arch::mbarrier_wait(s.full, 0);
          neighbour(s);
        },
        schedule);
    EXPECT_TRUE(both) << both.error().message;
  }
}

TEST(CopyArrivals, AreToBeWaitedFor) {
  expect_finding(run<32>([](Source& from, Shared& s) {
                   copy(from, s);
                   arch::cp_async_mbarrier_arrive_noinc(s.full);
                   arch::sync_warp();
                   neighbour(s);
                 }),
                 "load_shared reads bytes", "of shared memory, which cp_async_16 of warp 0 lane",
                 "no synchronisation between them");
  expect_finding(run<32>([](Source& from, Shared& s) {
                   arch::cp_async_mbarrier_arrive_noinc(s.full);
                   copy(from, s);
                   arch::mbarrier_wait(s.full, 0);
                   neighbour(s);
                 }),
                 "which cp_async_16 of warp 0 lane", "no synchronisation between them");
}

TEST(CopyArrivals, TellOfNothingElse) {
  expect_finding(run<32>([](Source& from, Shared& s) {
                   if (arch::lane() < 16) copy(from, s);
                   if (arch::lane() >= 16) arch::store_shared(s.tile, arch::lane() * 4, 1.f);
                   arch::cp_async_mbarrier_arrive_noinc(s.full);
                   arch::mbarrier_wait(s.full, 0);
                   neighbour(s);
                 }),
                 "load_shared reads bytes", "which store_shared of warp 0 lane", "no synchronisation between them");
}

TEST(CopyArrivals, AreCounted) {
  // Taken for arrivals that add nothing: nobody ever arrives.
  expect_finding(run<32>([](Source& from, Shared& s) {
                   copy(from, s);
                   arch::cp_async_mbarrier_arrive(s.full);
                   arch::mbarrier_wait(s.full, 0);
                 }),
                 "deadlock", "32 of 32 arrivals pending");
  // Not counted when the barrier was made.
  expect_finding(
      run<1>([](Source& from, Shared& s) {
        copy(from, s);
        arch::cp_async_mbarrier_arrive_noinc(s.full);
        arch::mbarrier_wait(s.full, 0);
      }),
      "cp_async_mbarrier_arrive_noinc at the mbarrier at byte 512 of shared memory (phase 0, 1 of 1 arrivals "
      "pending, of which copies make 1",
      "there is no arrival left for it");
  // Twice: by the copies, and by the thread.
  expect_finding(run<32>([](Source& from, Shared& s) {
                   copy(from, s);
                   arch::cp_async_mbarrier_arrive_noinc(s.full);
                   arch::mbarrier_arrive(s.full);
                   arch::mbarrier_wait(s.full, 0);
                 }),
                 "at the mbarrier at byte 512 of shared memory", "of which copies make");
  expect_finding(run<32>([](Source& from, Shared& s) {
                   copy(from, s);
                   if (arch::lane() == 0) arch::cp_async_mbarrier_arrive_noinc(s.full);
                   arch::sync_warp();
                   if (arch::lane() == 1) arch::mbarrier_inval(s.full);
                 }),
                 "mbarrier_inval of");
}

TEST(CopyArrivals, AreNoFence) {
  constexpr auto kRun = []<bool Fence>() {
    return run<32>([](Source& from, Shared& s) {
      copy(from, s);
      arch::cp_async_mbarrier_arrive_noinc(s.full);
      arch::mbarrier_wait(s.full, 0);
      if constexpr (Fence) arch::fence_proxy_async();
      if (arch::lane() != 0) return;
      arch::copy_bulk_to_global(from.x, 0, s.tile, 0, sizeof s.tile);
      arch::bulk_commit();
      arch::bulk_wait<0>();
    });
  };
  const auto sound = kRun.operator()<true>();
  EXPECT_TRUE(sound) << "in place: " << sound.error().message;
  expect_finding(kRun.operator()<false>(), "copy_bulk_to_global reads bytes 0-511 of shared memory, which cp_async_16",
                 "no fence.proxy.async between them");
}

TEST(CopyArrivals, TellThatTheSourceHasBeenRead) {
  constexpr auto kRun = []<bool Wait>() {
    return run<32>([](Source& from, Shared& s) {
      copy(from, s);
      arch::cp_async_mbarrier_arrive_noinc(s.full);
      if constexpr (Wait) arch::mbarrier_wait(s.full, 0);
      arch::store_if(true, from.x, (arch::lane() ^ 1) * 4, 2.f);
    });
  };
  const auto sound = kRun.operator()<true>();
  EXPECT_TRUE(sound) << sound.error().message;
  expect_finding(kRun.operator()<false>(), "of x", "cp_async_16", "no synchronisation between them");
}

/// A cluster of two whose block 0 sends to block 1 what `Fill` left, by `Send`; `Receive` is what block 1 does.
struct Two {
  alignas(128) float from[32], to[32];
  MBarrier full;
};
template <class Send>
struct SendKernel {
  static constexpr int kCluster = 2, kThreads = 32, kMinBlocks = 1;
  using Params = int;
  using Shared = Two;
  static void run(const Params&) {
    auto& s = arch::shared<Two>();
    if (arch::lane() == 0) {
      arch::mbarrier_init(s.full, 1);
      arch::fence_mbarrier_init();
      if (arch::block_in_cluster() == 1) arch::mbarrier_arrive_expect_tx(s.full, sizeof s.to);
    }
    arch::store_shared(s.from, arch::lane(), 1.f);
    arch::fence_proxy_async();
    arch::cluster_arrive();
    arch::cluster_wait();
    Send{}(s);
  }
};
template <class Send>
Result<emu::Stats> send(Send) {
  return emu::launch<SendKernel<Send>>({2, 1, 1}, 0, {});
}
void copy_to(Two& s, int block) {
  if (arch::lane() == 0 && arch::block_in_cluster() == 0)
    arch::copy_bulk_to_block(s.to, 0, s.from, 0, sizeof s.to, s.full, block);
}
void leave() {
  arch::cluster_arrive();
  arch::cluster_wait();
}

TEST(RemoteCopies, AreToldByTheOtherBlocksBarrier) {
  const auto sound = send([](Two& s) {
    copy_to(s, 1);
    if (arch::block_in_cluster() == 1) {
      arch::mbarrier_wait(s.full, 0);
      arch::load_shared(s.to, arch::lane());
    }
    leave();
    if (arch::block_in_cluster() == 0) arch::store_shared(s.from, arch::lane(), 2.f);
  });
  EXPECT_TRUE(sound) << sound.error().message;
  expect_finding(send([](Two& s) {
                   copy_to(s, 1);
                   leave();
                   if (arch::block_in_cluster() == 1) arch::load_shared(s.to, arch::lane());
                   leave();
                 }),
                 "load_shared reads bytes", "which copy_bulk_to_block of block 0 of the cluster, warp 0 lane 0",
                 "no synchronisation between them");
  // The source is not read when the instruction is issued.
  expect_finding(send([](Two& s) {
                   copy_to(s, 1);
                   arch::sync_warp();
                   if (arch::block_in_cluster() == 0) arch::store_shared(s.from, arch::lane(), 2.f);
                   leave();
                 }),
                 "store_shared writes bytes", "which copy_bulk_to_block of block 0", "read: ");
  expect_finding(send([](Two& s) {
                   copy_to(s, 1);
                   if (arch::block_in_cluster() == 1) arch::mbarrier_wait(s.full, 0);
                 }),
                 "whose threads leave without having waited for its end");
  expect_finding(send([](Two& s) { copy_to(s, 2); }), "copy_bulk_to_block in block 2 of a cluster of 2");
  // Sent to itself by mistake: its barrier expects nothing.
  expect_finding(send([](Two& s) {
                   copy_to(s, 0);
                   if (arch::block_in_cluster() == 1) arch::mbarrier_wait(s.full, 0);
                   leave();
                 }),
                 "deadlock", "128 bytes to come");
  expect_finding(send([](Two& s) {
                   if (arch::lane() == 0 && arch::block_in_cluster() == 0)
                     arch::copy_bulk_to_block(s.to, 0, s.from, 0, 24, s.full, 1);
                   leave();
                 }),
                 "copy_bulk_to_block of 24 bytes, which is no multiple of 16");
}

}  // namespace
}  // namespace flashfit::testing
