// 16 bytes a load, loads that count on nobody writing, and hints to caches that are given wrongly.
#include "core/base/mbarrier.hpp"
#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Numbers {
  alignas(16) float x[64] = {}, between[16] = {}, y[64] = {};
};
struct Shared {
  alignas(128) float tile[64];
  MBarrier full;
};

template <class Body>
Result<emu::Stats> run(Numbers& n, Body, int blocks = 1) {
  emu::Memory memory;
  memory.read_only("x", n.x, sizeof n.x).writable("y", n.y, sizeof n.y);
  return emu::launch<SmallKernel<32, Numbers, Body, Shared>>({blocks, 1, 1}, &n, memory);
}

TEST(WideLoads, Move16BytesThatAreAligned) {
  Numbers n;
  for (int i = 0; i < 64; ++i) n.x[i] = static_cast<float>(i);
  const auto ran = run(n, [](Numbers& to) {
    const int i = arch::lane() * 4;
    if (i >= 64) return;
    arch::store_if(true, to.y, i, i < 32 ? arch::load<Bytes16>(to.x, i) : arch::load_read_only(to.x, i));
  });
  ASSERT_TRUE(ran) << ran.error().message;
  for (int i = 0; i < 64; ++i) EXPECT_EQ(n.y[i], i);
  EXPECT_EQ(ran->global_bytes_read, 256u);
  expect_finding(run(n, [](Numbers& to) { arch::load<Bytes16>(to.x, 2); }), "reads 16 bytes at byte 8 of x",
                 "which is not aligned to 16");
  expect_finding(run(n, [](Numbers& to) { arch::load<Bytes16>(to.x, 61); }), "reads 16 bytes at byte 244 of x");
  expect_finding(run(n, [](Numbers& to) { arch::load_read_only(to.x, 1); }), "which is not aligned to 16");
  expect_finding(run(n, [](Numbers& to) { arch::load_read_only(to.x, 64); }), "past the end of x");
}

TEST(ReadOnlyLoads, OfWhatTheGridWritesAreAFindingHoweverOrdered) {
  Numbers n;
  expect_finding(run(n,
                     [](Numbers& to) {
                       if (arch::lane() != 0) return;
                       arch::store_if(true, to.y, 3, 1.f);
                       arch::load_read_only(to.y, 0);
                     }),
                 "load_read_only reads 16 bytes at byte 0 of y", "which store_if of warp 0 lane 0",
                 "wrote: what "
                 "load_read_only reads may not be written while the grid runs");
  expect_finding(run(n,
                     [](Numbers& to) {
                       arch::load_read_only(to.y, 0);
                       arch::sync_block();
                       arch::store_if(arch::lane() == 5, to.y, 3, 1.f);
                     }),
                 "store_if writes 4 bytes at byte 12 of y", "may not be written while the grid runs");
  const auto sound = run(n, [](Numbers& to) {
    arch::load_read_only(to.y, 0);
    arch::store_if(arch::lane() == 5, to.y, 4, 1.f);
  });
  EXPECT_TRUE(sound) << "beside it: " << sound.error().message;
}

TEST(CachePolicies, AreMadeByTheContract) {
  Numbers n;
  expect_finding(run(n, [](Numbers&) { arch::cache_policy<arch::Eviction::kFirst>(0); }),
                 "cache_policy for a fraction of 0: more than 0 and at most 1 is accepted");
  expect_finding(run(n, [](Numbers&) { arch::cache_policy<arch::Eviction::kLast>(1.5f); }), "a fraction of 1.5");
  expect_finding(run(n, [](Numbers& to) { arch::load_read_only(to.x, 0, arch::CachePolicy{0}); }),
                 "load_read_only by a cache policy that cache_policy did not make");
  expect_finding(
      run(n,
          [](Numbers& to) { arch::cp_async_16(arch::shared<Shared>().tile, 0, to.x, 0, true, arch::CachePolicy{1}); }),
      "cp_async_16 by a cache policy");
  expect_finding(run(n,
                     [](Numbers& to) {
                       auto& s = arch::shared<Shared>();
                       arch::copy_bulk_to_shared(s.tile, 0, to.x, 0, 16, s.full, arch::CachePolicy{2});
                     }),
                 "copy_bulk_to_shared by a cache policy");
}

}  // namespace
}  // namespace flashfit::testing
