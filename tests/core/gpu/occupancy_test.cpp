#include "core/gpu/occupancy.hpp"

#include <gtest/gtest.h>

#include "core/gpu/gpu.hpp"

namespace flashfit {
namespace {

Gpu gpu(const char* name) { return find_gpu(name).value(); }

void expect(const Footprint& footprint, const char* name, int blocks, const char* by) {
  const Occupancy o = occupancy(footprint, gpu(name));
  EXPECT_EQ(o.blocks, blocks) << name;
  EXPECT_STREQ(o.limited_by, by) << name;
}

// Computed with NVIDIA's occupancy rules by hand.
TEST(Occupancy, SharedMemoryWithTheReservedKilobyte) {
  expect({128, 128, 49152}, "L4", 2, "shared memory");      // 2 x 49 KB of 100
  expect({128, 128, 50 * 1024}, "L4", 1, "shared memory");  // 2 x 51 KB > 100: the reserved KB decides
  expect({128, 64, 32 * 1024}, "T4", 2, "shared memory");   // 7.5 reserves nothing
  expect({128, 128, 101376}, "L4", 1, "shared memory");
  expect({128, 128, 101377}, "L4", 0, "shared memory");
}

TEST(Occupancy, RegistersInUnitsOfAWarp) {
  expect({128, 218, 49152}, "H200", 2, "registers");  // 224 x 32 = 7168: 2 warps in each quarter of 16384
  expect({128, 168, 40960}, "H200", 3, "registers");  // 5376: 3
  expect({128, 170, 1024}, "H200", 2, "registers");   // rounds to 176: 5632 x 3 > 16384
  expect({256, 255, 1024}, "H200", 1, "registers");
  expect({288, 255, 1024}, "H200", 0, "registers");  // 9 warps, 8 fit
}

TEST(Occupancy, ThreadsAndBlocks) {
  expect({1024, 32, 1024}, "L4", 1, "threads");
  expect({512, 32, 1024}, "T4", 2, "threads");
  expect({32, 32, 0}, "T4", 16, "blocks");
  expect({32, 32, 0}, "L4", 24, "blocks");
}

}  // namespace
}  // namespace flashfit
