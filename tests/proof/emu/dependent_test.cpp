// Two grids, of which the second may begin before the first has ended: when it does, and what it may not touch then.
// And three, of which the third may count on what the second waited for.
#include <string>
#include <vector>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Both {
  alignas(16) float x[64] = {}, after_x[16] = {}, y[64] = {}, after_y[16] = {}, z[64] = {};
  std::vector<std::string> steps;  ///< what lanes 0 did, in turn
};

void step(Both& b, const char* what) {
  if (arch::lane() == 0) b.steps.push_back(what + std::to_string(arch::block().x));
}

/// The first grid may write y, the second z. Each of `blocks` warps.
template <class First, class Second>
Result<emu::Stats> run(Both& b, First, Second, emu::Schedule schedule = emu::Schedule::kRoundRobin, int blocks = 2) {
  emu::Memory first, second;
  first.read_only("x", b.x, sizeof b.x).writable("y", b.y, sizeof b.y);
  second.read_only("y", b.y, sizeof b.y).writable("x", b.x, sizeof b.x).writable("z", b.z, sizeof b.z);
  Both* const params = &b;
  return emu::launch_dependent<SmallKernel<32, Both, First>, SmallKernel<32, Both, Second>>(
      {"first", {blocks, 1, 1}, params, first}, {"second", {blocks, 1, 1}, params, second}, {.schedule = schedule});
}

constexpr auto kStoreY = [](Both& b) {
  step(b, "first begins ");
  arch::launch_dependents();
  arch::store_if(true, b.y, arch::block().x * 32 + arch::lane(), 1.f);
  step(b, "first ends ");
};
constexpr auto kCopyY = [](Both& b) {
  step(b, "second begins ");
  arch::grid_dependency_wait();
  const int64 i = arch::block().x * 32 + arch::lane();
  arch::store_if(true, b.z, i, arch::load(b.y, i) + 1);
  step(b, "second ends ");
};

TEST(DependentGrids, TheSecondBeginsWhenAllBlocksOfTheFirstHaveSaidSo) {
  Both b;
  const auto ran = run(b, kStoreY, kCopyY);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->blocks, 4u);
  for (const float z : b.z) EXPECT_EQ(z, 2);
  EXPECT_EQ(b.steps, (std::vector<std::string>{"first begins 0", "first ends 0", "first begins 1", "second begins 0",
                                               "first ends 1", "second ends 0", "second begins 1", "second ends 1"}));
  // As late as may be.
  b = {};
  ASSERT_TRUE(run(b, kStoreY, kCopyY, emu::Schedule::kReversed));
  EXPECT_EQ(b.steps[3], "first ends 1");
}

TEST(DependentGrids, TheSecondWaitsForABlockThatNeverSaysSo) {
  Both b;
  const auto ran = run(
      b,
      [](Both& to) {
        step(to, "first begins ");
        if (arch::block().x == 0) arch::launch_dependents();
        arch::sync_block();
        step(to, "first ends ");
      },
      kCopyY);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(b.steps[3], "first ends 1");
}

TEST(DependentGrids, BlocksThatEndedCountToo) {
  Both b;
  const auto ran = run(
      b,
      [](Both& to) {
        if (arch::block().x == 0) return;
        arch::launch_dependents();
        arch::launch_dependents();
        step(to, "first ends ");
      },
      kCopyY);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(b.steps[0], "second begins 0");
}

/// Lane 0 alone waits for the first grid; `Between` is done before lanes read what it left.
template <class Between>
Result<emu::Stats> one_lane_waits(Between) {
  Both b;
  return run(b, kStoreY, [](Both& to) {
    if (arch::lane() == 0) arch::grid_dependency_wait();
    Between{}();
    arch::load(to.y, arch::lane());
  });
}

TEST(DependentGrids, WhatTheFirstWritesIsThereAfterTheWaitAlone) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    Both b;
    expect_finding(run(
                       b, kStoreY, [](Both& to) { arch::load(to.y, arch::lane()); }, schedule),
                   "no grid_dependency_wait between them");
    // launch_dependents makes nothing visible, however late it comes.
    expect_finding(run(
                       b,
                       [](Both& to) {
                         arch::store_if(true, to.y, arch::block().x * 32 + arch::lane(), 1.f);
                         arch::launch_dependents();
                       },
                       [](Both& to) { arch::load(to.y, arch::lane()); }, schedule),
                   "second: block (0,0,0) warp 0 lane", "load reads 4 bytes at byte",
                   "which store_if of first's block (0,0,0) warp 0 lane",
                   "wrote: no grid_dependency_wait between them");
    // Nor may it be written over before the first has read it.
    expect_finding(run(
                       b,
                       [](Both& to) {
                         arch::launch_dependents();
                         arch::load(to.x, arch::lane());
                       },
                       [](Both& to) { arch::store_if(true, to.x, arch::lane(), 2.f); }, schedule),
                   "of x", "no grid_dependency_wait between them");
  }
}

TEST(DependentGrids, AWaitIsPassedOnByBarriers) {
  expect_finding(one_lane_waits([] {}), "no grid_dependency_wait between them");
  const auto sound = one_lane_waits([] { arch::sync_warp(); });
  EXPECT_TRUE(sound) << sound.error().message;
}

TEST(DependentGrids, FindingsInEitherEndBoth) {
  Both b;
  // In the first, while the second waits.
  expect_finding(run(
                     b,
                     [](Both& to) {
                       arch::launch_dependents();
                       arch::sync_block();
                       arch::load(to.x, 64);
                     },
                     kCopyY),
                 "first: block (0,0,0)", "past the end of x");
  // In the second, while the first waits to go on.
  expect_finding(run(b, kStoreY, [](Both& to) { arch::load(to.y, 64); }), "second: block (0,0,0)", "past the end of y");
  // A barrier without lanes that wait for the first grid is no deadlock; one without lanes that left is.
  expect_finding(run(b, kStoreY,
                     [](Both&) {
                       if (arch::lane() == 0) arch::grid_dependency_wait();
                       if (arch::lane() != 1) arch::sync_warp();
                     }),
                 "second: block (0,0,0)");
}

TEST(DependentGrids, WaitingForALaterBlockOfTheSecondIsAFinding) {
  Both b;
  expect_finding(run(b, kStoreY,
                     [](Both& to) {
                       arch::grid_dependency_wait();
                       if (arch::lane() != 0) return;
                       auto* const flag = reinterpret_cast<int*>(to.z);
                       if (arch::block().x == 1) arch::store_release(flag, 0, 1);
                       while (arch::load_acquire(flag, 0) == 0) continue;
                     }),
                 "second: block (0,0,0)", "load_acquire asks for ever");
}

/// Two blocks of a warp each: the first grid writes x, the second y, the third reads one of these and writes z.
template <class Second, class Third>
Result<emu::Stats> run_three(Both& b, Second, Third, emu::Schedule schedule) {
  constexpr auto kStoreX = [](Both& to) {
    arch::launch_dependents();
    step(to, "first goes on ");
    arch::store_if(true, to.x, arch::block().x * 32 + arch::lane(), 1.f);
  };
  emu::Memory memory;
  memory.writable("x", b.x, sizeof b.x).writable("y", b.y, sizeof b.y).writable("z", b.z, sizeof b.z);
  Both* const params = &b;
  const emu::GridLaunch grids[] = {
      {emu::program_of<SmallKernel<32, Both, decltype(kStoreX)>>(params), {2, 1, 1}, memory, "first"},
      {emu::program_of<SmallKernel<32, Both, Second>>(params), {2, 1, 1}, memory, "second"},
      {emu::program_of<SmallKernel<32, Both, Third>>(params), {2, 1, 1}, memory, "third"}};
  return emu::run_dependent_grids(grids, {.schedule = schedule});
}

constexpr auto kWaitAndLaunch = [](Both& b) {
  step(b, "second begins ");
  arch::grid_dependency_wait();
  arch::launch_dependents();
  arch::store_if(true, b.y, arch::block().x * 32 + arch::lane(), 2.f);
  step(b, "second ends ");
};
constexpr auto kLaunchAndWait = [](Both& b) {
  arch::launch_dependents();
  arch::grid_dependency_wait();
  arch::store_if(true, b.y, arch::block().x * 32 + arch::lane(), 2.f);
};
constexpr auto kCopyXWithoutWait = [](Both& b) {
  step(b, "third begins ");
  const int64 i = arch::block().x * 32 + arch::lane();
  const float x = arch::load(b.x, i);
  arch::grid_dependency_wait();
  arch::store_if(true, b.z, i, x + arch::load(b.y, i));
};

TEST(DependentGrids, TheThirdKnowsWhatTheSecondWaitedForBeforeItLaunched) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    Both b;
    const auto ran = run_three(b, kWaitAndLaunch, kCopyXWithoutWait, schedule);
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->blocks, 6u);
    for (const float z : b.z) EXPECT_EQ(z, 3);
    const std::vector<std::string> soonest{"first goes on 0", "second begins 0", "first goes on 1", "second ends 0",
                                           "second begins 1", "third begins 0",  "second ends 1",   "third begins 1"};
    EXPECT_EQ(b.steps == soonest, schedule == emu::Schedule::kRoundRobin);
    expect_finding(run_three(b, kLaunchAndWait, kCopyXWithoutWait, schedule), "third: block (0,0,0)",
                   "of x (256 bytes), which store_if of first's block (0,0,0)", "no grid_dependency_wait between them");
    // Nor may it count on one block's wait.
    expect_finding(run_three(
                       b,
                       [](Both& to) {
                         if (arch::block().x == 0) arch::grid_dependency_wait();
                         arch::launch_dependents();
                         arch::grid_dependency_wait();
                         arch::store_if(true, to.y, arch::block().x * 32 + arch::lane(), 2.f);
                       },
                       kCopyXWithoutWait, schedule),
                   "third: block (0,0,0)", "no grid_dependency_wait between them");
    // What the second writes is there after the third's own wait alone.
    expect_finding(run_three(
                       b, kWaitAndLaunch, [](Both& to) { arch::load(to.y, arch::lane()); }, schedule),
                   "third: block (0,0,0)", "of y (256 bytes), which store_if of second's block (0,0,0)",
                   "no grid_dependency_wait between them");
  }
}

TEST(DependentGrids, TheThirdCannotWaitForASecondThatHasNotWaited) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    Both b;
    expect_finding(run_three(
                       b,
                       [](Both&) {
                         if (arch::block().x == 0) arch::grid_dependency_wait();
                       },
                       [](Both&) { arch::grid_dependency_wait(); }, schedule),
                   "third: block (0,0,0)",
                   "grid_dependency_wait for second, of which not every block has waited for the grid before it");
  }
}

TEST(DependentGrids, AloneAKernelHasNothingToWaitFor) {
  Both b;
  emu::Memory memory;
  memory.writable("y", b.y, sizeof b.y);
  const auto ran = run_block<32>(
      b,
      [](Both& to) {
        arch::launch_dependents();
        arch::grid_dependency_wait();
        arch::store_if(true, to.y, arch::lane(), 1.f);
      },
      memory);
  EXPECT_TRUE(ran) << ran.error().message;
}

/// A launch that begins before what was queued before it has ended.
template <class Body>
Result<emu::Stats> run_early(Body, emu::Schedule schedule = emu::Schedule::kRoundRobin) {
  Both b;
  Both* const params = &b;
  emu::Memory memory;
  memory.read_only("x", b.x, sizeof b.x).writable("y", b.y, sizeof b.y);
  return emu::launch<SmallKernel<32, Both, Body>>({2, 1, 1}, params, memory,
                                                  {.schedule = schedule, .begins_early = true});
}

TEST(EarlyLaunch, TouchesGlobalMemoryOnlyAfterItsWait) {
  constexpr const char* kFinding = "before a grid_dependency_wait: kernels that were queued before may still run";
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    expect_finding(run_early(
                       [](Both& b) {
                         arch::load(b.x, arch::lane());
                         arch::grid_dependency_wait();
                       },
                       schedule),
                   "reads 4 bytes at byte", "of x (read-only, 256 bytes)", kFinding);
    expect_finding(run_early([](Both& b) { arch::store_if(true, b.y, arch::lane(), 1.f); }, schedule),
                   "writes 4 bytes at byte", "of y (256 bytes)", kFinding);
    expect_finding(
        run_early([](Both& b) { arch::atomic_add<arch::MemoryOrder::kRelaxed>(b.y, arch::lane(), 1.f); }, schedule),
        kFinding);
    // Another lane's wait is no help without a barrier.
    expect_finding(run_early(
                       [](Both& b) {
                         if (arch::lane() == 0) arch::grid_dependency_wait();
                         arch::load(b.x, arch::lane());
                       },
                       schedule),
                   kFinding);
    const auto sound = run_early(
        [](Both& b) {
          if (arch::lane() == 0) arch::grid_dependency_wait();
          arch::sync_block();
          arch::store_if(true, b.y, arch::block().x * 32 + arch::lane(), arch::load(b.x, arch::lane()));
        },
        schedule);
    EXPECT_TRUE(sound) << sound.error().message;
  }
}

TEST(EarlyLaunch, TheNextGridKnowsOfTheWaitIfItCameBeforeTheLaunch) {
  const auto run_both = [](auto first) {
    Both b;
    emu::Memory memory;
    memory.read_only("x", b.x, sizeof b.x).writable("z", b.z, sizeof b.z);
    Both* const params = &b;
    constexpr auto kReadsAtOnce = [](Both& to) {
      const float x = arch::load(to.x, arch::lane());
      arch::grid_dependency_wait();
      arch::store_if(true, to.z, arch::block().x * 32 + arch::lane(), x);
    };
    const emu::GridLaunch grids[] = {
        {emu::program_of<SmallKernel<32, Both, decltype(first)>>(params), {2, 1, 1}, memory, "first"},
        {emu::program_of<SmallKernel<32, Both, decltype(kReadsAtOnce)>>(params), {2, 1, 1}, memory, "second"}};
    return emu::run_dependent_grids(grids, {.begins_early = true});
  };
  const auto sound = run_both([](Both&) {
    arch::grid_dependency_wait();
    arch::launch_dependents();
  });
  EXPECT_TRUE(sound) << sound.error().message;
  expect_finding(run_both([](Both&) {
                   arch::launch_dependents();
                   arch::grid_dependency_wait();
                 }),
                 "second: block (0,0,0)", "of x (read-only, 256 bytes) before a grid_dependency_wait");
  // A grid of which a block never waits may end before what was queued before it.
  expect_finding(run_both([](Both&) {
                   if (arch::block().x == 0) arch::grid_dependency_wait();
                 }),
                 "before a grid_dependency_wait");
}

}  // namespace
}  // namespace flashfit::testing
