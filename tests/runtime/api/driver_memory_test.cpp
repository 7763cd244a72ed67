// examples/driver_memory.c with the fake driver, whose memory is the host's and whose launches compute nothing: the
// example must ask for all that it needs, give all of it back and say that the result is wrong.
#include <gmock/gmock.h>

#include "fake_cuda/fake_cuda.hpp"
#include "kernels/attention/forward_params.hpp"

extern "C" int driver_memory_main();

namespace {

TEST(DriverMemory, LaunchesOnItsStreamAndSeesAWrongResult) {
  fake_cuda::State& fake = fake_cuda::fake();
  fake.param_bytes = sizeof(flashfit::ForwardParams);
  EXPECT_EQ(driver_memory_main(), 1);
  ASSERT_EQ(fake.launches.size(), 1u);
  const fake_cuda::Launch& launch = fake.launches[0];
  void* driver = dlopen("libcuda.so.1", RTLD_NOW);
  auto* allocations = reinterpret_cast<int (*)()>(dlsym(driver, "fake_cuda_allocations"));
  ASSERT_NE(allocations, nullptr);
  EXPECT_EQ(allocations(), 0);
  EXPECT_THAT(launch.entry, testing::StartsWith("kernel_fwd_mma_fp16_d64"));
  EXPECT_NE(launch.stream, nullptr);
  flashfit::ForwardParams params;
  std::memcpy(&params, launch.params.data(), sizeof params);
  EXPECT_EQ(params.seqlen_q, 256);
  EXPECT_EQ(params.heads.by, 4);
  EXPECT_NE(params.q, params.o);
  EXPECT_TRUE(fake.streams.empty());
  EXPECT_THAT(fake.complaints, testing::IsEmpty());
}

}  // namespace
