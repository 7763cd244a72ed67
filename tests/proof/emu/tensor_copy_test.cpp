// What is wrong with a tensor copy or a product ends the launch with one line that says so.
#include "kernel.hpp"
#include "kernels/layout/panel_tile.hpp"
#include "proof/emu/tensor_map.hpp"

namespace flashfit::testing {
namespace {

using Tile = PanelTile<f16, 16, 64, SwizzleMode::k128B>;

struct Args {
  TensorMap map{};
  alignas(16) f16 data[16][64];
};
struct Shared {
  Tile tile[2];
  MBarrier full;
};

/// Zeros, seen by engines and all threads.
void fill(Tile& s_tile) {
  for (int i = arch::warp() * 32 + arch::lane(); i < 1024; i += 128) arch::store_shared(s_tile.data, i, f16{0});
  arch::fence_proxy_async();
  arch::sync_block();
}

/// One warp, of which thread 0 made the barrier and does the rest; the kernel may touch so many rows of the
/// matrix.
template <class Body>
Result<emu::Stats> with_map(Body, void (*change)(Args&) = [](Args&) {}, int rows = 16) {
  static Args args;
  args.map = *emu::encode_tensor_map({.dtype = DType::kF16,
                                      .rank = 2,
                                      .base = args.data,
                                      .dims = {64, 16},
                                      .strides = {128},
                                      .box = {64, 16},
                                      .swizzle = SwizzleMode::k128B});
  change(args);
  emu::Memory memory;
  memory.writable("x", args.data, static_cast<std::size_t>(rows) * 128).read_only("map", &args.map, sizeof args.map);
  return run_block<32, Shared>(
      args,
      [](Args& a) {
        auto& s = arch::shared<Shared>();
        if (arch::thread() == 0) {
          arch::mbarrier_init(s.full, 1);
          arch::fence_mbarrier_init();
        }
        arch::sync_block();
        if (arch::thread() == 0) Body{}(a, s);
        arch::sync_block();
      },
      memory);
}

constexpr auto kLoad = [](Args& a, Shared& s) {
  arch::mbarrier_arrive_expect_tx(s.full, 2048);
  arch::tma_load(s.tile[0].data, 0, a.map, {0, 0}, s.full);
  arch::mbarrier_wait(s.full, 0);
};

TEST(TensorCopies, Sound) {
  const auto ran = with_map(kLoad);
  ASSERT_TRUE(ran) << ran.error().message;
  EXPECT_EQ(ran->tensor_copies, 1u);
}

TEST(TensorCopies, MapsThatAreNone) {
  expect_finding(with_map(kLoad, [](Args& a) { a.map = {}; }), "tma_load by bytes that are no tensor map");
  expect_finding(with_map([](Args& a, Shared& s) { arch::tma_load(s.tile[0].data, 0, a.map, {0, 0, 0}, s.full); }),
                 "tma_load with 3 coordinates by a tensor map of rank 2");
  expect_finding(
      with_map([](Args& a, Shared& s) { arch::tma_load(reinterpret_cast<float*>(s.tile), 0, a.map, {0, 0}, s.full); }),
      "tma_load of elements of 4 bytes by a tensor map of fp16");
  expect_finding(with_map([](Args& a, Shared&) { arch::prefetch_tensor_map(a.map); }, [](Args& a) { a.map = {}; }),
                 "prefetch_tensor_map by bytes that are no tensor map");
}

TEST(TensorCopies, MapsAreUsedWhereTheyLie) {
  expect_finding(with_map([](Args& a, Shared& s) {
                   const TensorMap copy = a.map;
                   arch::tma_load(s.tile[0].data, 0, copy, {0, 0}, s.full);
                 }),
                 "tma_load by a tensor map that lies neither in Params nor in a tensor");
}

TEST(TensorCopies, BoxesOutOfPlace) {
  expect_finding(with_map([](Args& a, Shared& s) { arch::tma_load(s.tile[0].data, 64, a.map, {0, 0}, s.full); }),
                 "touches 2048 bytes at byte 128 of shared memory, which is not aligned to 1024");
  expect_finding(with_map([](Args& a, Shared& s) { arch::tma_load(s.tile[1].data, 1024, a.map, {0, 0}, s.full); }),
                 "touches 2048 bytes at byte 4096 of a shared memory of 5120");
  expect_finding(with_map([](Args& a, Shared& s) { arch::tma_store(a.map, {0, 0}, s.tile[0].data, 64); }),
                 "not aligned to 1024");
  expect_finding(with_map(kLoad, [](Args&) {}, 15), "reads 128 bytes at byte 0 past the end of x (1920 bytes)");
  expect_finding(
      with_map([](Args& a, Shared& s) { arch::tma_store(a.map, {0, 4}, s.tile[0].data, 0); }, [](Args&) {}, 15),
      "writes 128 bytes at byte 0 past the end of x");
  expect_finding(with_map([](Args& a, Shared& s) { arch::tma_store(a.map, {-8, 0}, s.tile[0].data, 0); }),
                 "tma_store at (-8, 0): a box that is stored starts at 0 or later in each dimension");
  expect_finding(with_map([](Args& a, Shared& s) { arch::tma_reduce_add(a.map, {0, -1}, s.tile[0].data, 0); }),
                 "tma_reduce_add at (0, -1)");
}

TEST(TensorCopies, WhatNobodyWaitedFor) {
  expect_finding(with_map([](Args& a, Shared& s) {
                   arch::mbarrier_arrive_expect_tx(s.full, 2048);
                   arch::tma_load(s.tile[0].data, 0, a.map, {0, 0}, s.full);
                   arch::load_shared(s.tile[0].data, 5);
                 }),
                 "load_shared reads bytes 10-11 of shared memory, which tma_load");
  expect_finding(with_map([](Args& a, Shared& s) {
                   for (int i = 0; i < 1024; ++i) arch::store_shared(s.tile[0].data, i, f16{0});
                   arch::tma_store(a.map, {0, 0}, s.tile[0].data, 0);
                 }),
                 "tma_store reads bytes", "no fence.proxy.async between them");
  expect_finding(with_map([](Args& a, Shared& s) {
                   for (int i = 0; i < 1024; ++i) arch::store_shared(s.tile[0].data, i, f16{0});
                   arch::fence_proxy_async();
                   arch::tma_store(a.map, {0, 0}, s.tile[0].data, 0);
                   arch::bulk_commit();
                   arch::store_shared(s.tile[0].data, 0, f16{1});
                 }),
                 "store_shared writes bytes 0-1 of shared memory, which tma_store");
}

/// All 128 threads: a product of zeros, of which `wrong` leaves something out.
template <int Threads, class Body>
Result<emu::Stats> product(Body body) {
  static Args args;
  return run_block<Threads, Shared>(args, body);
}

TEST(Products, NeedAWholeWarpgroup) {
  expect_finding(product<64>([](Args&) {
                   float d[8] = {};
                   arch::wgmma_fence(d);
                 }),
                 "wgmma needs a warpgroup of four warps");
}

template <bool Fence>
Result<emu::Stats> product_of_generic_stores() {
  return product<128>([](Args&) {
    auto& s = arch::shared<Shared>();
    for (int i = arch::thread(); i < 1024; i += 128) arch::store_shared(s.tile[0].data, i, f16{0});
    if constexpr (Fence) arch::fence_proxy_async();
    arch::sync_block();
    float d[8] = {};
    uint32 a[4] = {};
    arch::wgmma_fence(d, a);
    arch::wgmma_m64k16<f16>(d, a, encode(Tile::k_major(arch::shared_address(s.tile[0].data), 0, 0)), true);
    arch::wgmma_commit();
    arch::wgmma_wait<0>(d);
  });
}

TEST(Products, OfGenericStoresNeedAProxyFence) {
  const auto sound = product_of_generic_stores<true>();
  ASSERT_TRUE(sound) << sound.error().message;
  EXPECT_EQ(sound->wgmma, 4u) << "once a warp";
  expect_finding(product_of_generic_stores<false>(), "wgmma reads bytes 0-15 of shared memory, which store_shared",
                 "no fence.proxy.async between them");
}

/// One block: nothing has turned the clocks on before.
template <bool Fence>
Result<emu::Stats> product_of_copies() {
  static Args args;
  emu::Memory memory;
  memory.read_only("x", args.data, sizeof args.data);
  return run_block<128, Shared>(
      args,
      [](Args& a) {
        auto& s = arch::shared<Shared>();
        arch::cp_async_16(s.tile[0].data, arch::thread() * 8, a.data[0], arch::thread() * 8, true);
        arch::cp_async_commit();
        arch::cp_async_wait<0>();
        if constexpr (Fence) arch::fence_proxy_async();
        arch::sync_block();
        float d[8] = {};
        uint32 registers[4] = {};
        arch::wgmma_fence(d, registers);
        arch::wgmma_m64k16<f16>(d, registers, encode(Tile::k_major(arch::shared_address(s.tile[0].data), 0, 0)), true);
        arch::wgmma_commit();
        arch::wgmma_wait<0>(d);
      },
      memory);
}

TEST(Products, OfAsynchronousCopiesOfThreadsNeedAProxyFence) {
  const auto sound = product_of_copies<true>();
  EXPECT_TRUE(sound) << sound.error().message;
  expect_finding(product_of_copies<false>(), "wgmma reads bytes 0-15 of shared memory, which cp_async_16",
                 "no fence.proxy.async between them");
}

/// Sixteen rows of A in registers by the tile.
void multiply(float (&d)[8], uint32 (&a)[4]) {
  arch::wgmma_fence(d, a);
  arch::wgmma_m64k16<f16>(d, a, encode(Tile::k_major(arch::shared_address(arch::shared<Shared>().tile[0].data), 0, 0)),
                          true);
  arch::wgmma_commit();
}

/// A second warpgroup overwrites the tile when one thread of the first says that its product is done.
template <bool Waits>
Result<emu::Stats> refilled_after_one_arrival(emu::Schedule schedule) {
  static Args args;
  return run_block<256, Shared>(args,
                                [](Args&) {
                                  auto& s = arch::shared<Shared>();
                                  if (arch::thread() == 0) arch::mbarrier_init(s.full, 1);
                                  for (int i = arch::thread(); i < 1024; i += 256)
                                    arch::store_shared(s.tile[0].data, i, f16{0});
                                  arch::fence_proxy_async();
                                  arch::sync_block();
                                  if (arch::warp() < 4) {
                                    float d[8] = {};
                                    uint32 a[4] = {};
                                    multiply(d, a);
                                    if constexpr (Waits) arch::wgmma_wait<0>(d);
                                    if (arch::thread() == 0) arch::mbarrier_arrive(s.full);
                                    if constexpr (!Waits) arch::wgmma_wait<0>(d);
                                  } else if (arch::thread() == 128) {
                                    arch::mbarrier_wait(s.full, 0);
                                    arch::store_shared(s.tile[0].data, 0, f16{0});
                                  }
                                },
                                {}, {.schedule = schedule, .seed = 3});
}

TEST(Products, EndForTheWarpgroupWhenOneWarpHasWaited) {
  for (const emu::Schedule schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    const auto sound = refilled_after_one_arrival<true>(schedule);
    EXPECT_TRUE(sound) << sound.error().message;
    expect_finding(refilled_after_one_arrival<false>(schedule), "of shared memory, which ", "no synchronisation");
  }
}

TEST(Products, OfThreeWarpsNeverEnd) {
  expect_finding(product<128>([](Args&) {
                   fill(arch::shared<Shared>().tile[0]);
                   if (arch::warp() == 3) return;
                   float d[8] = {};
                   uint32 a[4] = {};
                   multiply(d, a);
                   arch::wgmma_wait<0>(d);
                 }),
                 "deadlock", "wait in wgmma_wait, for products that not all four warps issued");
}

TEST(Products, LeftBehindEndTheBlockWithAFinding) {
  expect_finding(product<128>([](Args&) {
                   fill(arch::shared<Shared>().tile[0]);
                   float d[8] = {};
                   uint32 a[4] = {};
                   multiply(d, a);
                 }),
                 "the wgmma at tensor_copy_test.cpp:", "was never waited for");
}

TEST(Products, ArraysWhoseStackIsUsedAgain) {
  expect_finding(product<128>([](Args&) {
                   fill(arch::shared<Shared>().tile[0]);
                   float d[8] = {};
                   uint32 a[4] = {};
                   multiply(d, a);
                   const_cast<volatile uint32&>(a[2]) = 1;
                   arch::wgmma_wait<0>(d);
                 }),
                 "registers of A of the wgmma at", "or left their scope");
}

}  // namespace
}  // namespace flashfit::testing
