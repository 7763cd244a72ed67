// What the contract forbids where threads synchronise ends the launch with a line that says so. The defects of whole
// kernels are in sync_mutants.txt.
#include "../kernel.hpp"
#include "core/base/mbarrier.hpp"

namespace flashfit::testing {
namespace {

struct Barriers {
  alignas(16) float data[64];
  MBarrier full, odd;
};
struct None {};

template <int Threads = 32, class Body>
Result<emu::Stats> run_on_barriers(Body body) {
  None none;
  return run_block<Threads, Barriers>(none, body);
}

TEST(NamedBarrier, IdsAndCounts) {
  expect_finding(run_on_barriers([](None&) { arch::named_barrier_sync(16, 32); }), "named barrier 16: ids are 1 to 15");
  expect_finding(run_on_barriers([](None&) { arch::named_barrier_sync(0, 32); }), "named barrier 0: ids are 1 to 15");
  expect_finding(run_on_barriers([](None&) { arch::named_barrier_sync(1, 40); }), "for 40 threads", "multiples of 32");
  expect_finding(run_on_barriers([](None&) { arch::named_barrier_sync(1, 64); }), "for 64 threads", "a block of 32");
  expect_finding(run_on_barriers<96>([](None&) { arch::named_barrier_sync(3, arch::warp() == 0 ? 64 : 96); }),
                 "named barrier 3 for 96 threads, while sync_findings_test.cpp:", "says 64");
  expect_finding(run_on_barriers<64>([](None&) {
                   if (arch::warp() == 0) arch::named_barrier_sync(2, 64);
                 }),
                 "deadlock", "wait in named barrier 2 (32 of 64 threads are there)");
}

TEST(NamedBarrier, TwiceInOneGeneration) {
  expect_finding(run_on_barriers<64>([](None&) {
                   if (arch::warp() == 1) return;
                   arch::named_barrier_arrive(1, 64);
                   arch::named_barrier_arrive(1, 64);
                 }),
                 "arrives twice at named barrier 1");
}

TEST(SyncWarp, OrdersItsLanesAlone) {
  EXPECT_TRUE(run_on_barriers([](None&) {
    auto& s = arch::shared<Barriers>();
    arch::store_shared(s.data, arch::lane(), 1.f);
    arch::sync_warp();
    arch::load_shared(s.data, arch::lane() ^ 1);
  }));
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   arch::store_shared(s.data, arch::lane(), 0.f);
                   arch::sync_block();
                   arch::store_shared(s.data, arch::lane(), 1.f);
                   arch::sync_warp(arch::lane() < 16 ? 0xffffu : 0xffff0000u);
                   arch::load_shared(s.data, arch::lane() ^ 16);
                 }),
                 "load_shared reads bytes 124-127", "store_shared of warp 0 lane 31",
                 "no synchronisation between them");
  expect_finding(run_on_barriers([](None&) { arch::sync_warp(2); }), "not of this one");
  expect_finding(run_on_barriers([](None&) {
                   if (arch::lane() != 5) arch::sync_warp();
                 }),
                 "sync_warp");
}

TEST(MBarrier, WrongUse) {
  expect_finding(run_on_barriers([](None&) { arch::mbarrier_arrive(arch::shared<Barriers>().full); }),
                 "mbarrier_arrive on byte 256 of shared memory, where no mbarrier has been initialised");
  expect_finding(run_on_barriers([](None&) { arch::mbarrier_init(arch::shared<Barriers>().full, 0); }),
                 "mbarrier_init for 0 arrivals");
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   if (arch::lane() != 0) return;
                   arch::mbarrier_init(s.full, 2);
                   arch::mbarrier_arrive(s.full, 3);
                 }),
                 "3 arrivals at the mbarrier at byte 256 of shared memory (phase 0, 2 of 2 arrivals pending");
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   if (arch::lane() != 0) return;
                   arch::mbarrier_init(s.full, 1);
                   arch::mbarrier_expect_tx(s.full, 1 << 20);
                 }),
                 "expects 1048576 more bytes");
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   if (arch::lane() == 0) arch::mbarrier_init(s.full, 1);
                   arch::sync_warp();
                   arch::mbarrier_wait(s.full, 3);
                 }),
                 "asks for parity 3 of the mbarrier at byte 256", "0 and 1 are accepted");
}

TEST(MBarrier, AWaiterLeftTwoPhasesBehind) {
  // Lane 1 may look only when two phases have passed: the parity that it waits for has come and gone.
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   if (arch::lane() == 0) arch::mbarrier_init(s.full, 1);
                   arch::sync_warp();
                   if (arch::lane() == 1) arch::mbarrier_wait(s.full, 0);
                   if (arch::lane() != 2) return;
                   arch::mbarrier_arrive(s.full);
                   arch::mbarrier_arrive(s.full);
                 }),
                 "completes phase 1", "may still wait for phase 0");
}

TEST(MBarrier, AskingInALoop) {
  EXPECT_TRUE(run_on_barriers([](None&) {
    auto& s = arch::shared<Barriers>();
    if (arch::lane() == 0) arch::mbarrier_init(s.full, 1);
    arch::sync_warp();
    if (arch::lane() == 31) arch::mbarrier_arrive(s.full);
    while (!arch::mbarrier_test(s.full, 0)) continue;
  }));
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   if (arch::lane() == 0) arch::mbarrier_init(s.full, 1);
                   arch::sync_warp();
                   while (!arch::mbarrier_test(s.full, 0)) continue;
                 }),
                 "deadlock: asks for ever for the mbarrier");
}

TEST(MBarrier, AskingForAnotherWarpsArrival) {
  EXPECT_TRUE(run_on_barriers<64>([](None&) {
    auto& s = arch::shared<Barriers>();
    if (arch::thread() == 0) arch::mbarrier_init(s.full, 1);
    arch::sync_block();
    if (arch::thread() == 32) arch::mbarrier_arrive(s.full);
    while (!arch::mbarrier_test(s.full, 0)) continue;
  }));
}

TEST(MBarrier, InvalidatedUnderAnother) {
  expect_finding(run_on_barriers([](None&) {
                   auto& s = arch::shared<Barriers>();
                   if (arch::lane() == 0) arch::mbarrier_init(s.full, 1);
                   arch::sync_warp();
                   if (arch::lane() == 1) arch::mbarrier_arrive(s.full);
                   if (arch::lane() == 2) arch::mbarrier_inval(s.full);
                 }),
                 "mbarrier_inval of", "no synchronisation with them");
  EXPECT_TRUE(run_on_barriers([](None&) {
    auto& s = arch::shared<Barriers>();
    if (arch::lane() == 0) arch::mbarrier_init(s.full, 1);
    arch::sync_warp();
    if (arch::lane() == 1) arch::mbarrier_arrive(s.full);
    arch::sync_warp();
    if (arch::lane() != 0) return;
    arch::mbarrier_inval(s.full);
    arch::store_shared(&s.full.state, 0, 0.f);
  }));
}

TEST(Registers, OfWholeWarpgroups) {
  expect_finding(run_on_barriers<96>([](None&) { arch::set_max_registers_dec<24>(); }),
                 "no whole number of warpgroups");
  expect_finding(run_on_barriers<128>([](None&) { arch::set_max_registers_inc<240>(); }),
                 "set_max_registers_inc<240>, while the warp has 256");
}

}  // namespace
}  // namespace flashfit::testing
