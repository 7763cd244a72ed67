// flashfit.hpp's allocator and examples/driver_memory.c, with a library whose plan asks for 1000 bytes
// (plan_double.cpp).
#include <dlfcn.h>
#include <gmock/gmock.h>

#include <flashfit/flashfit.hpp>
#include <vector>

extern "C" int flashfit_launches();  // of the library's double
extern "C" int driver_memory_main();

namespace flashfit {
namespace {

class WorkspaceCpp : public testing::Test {
 protected:
  /// The call with an allocator that gives `memory`; what it was asked is in asked_, the launches in launched_.
  Expected<void> run(void* memory, const AttentionOptions& options = {}) {
    asked_.clear();
    const int before = flashfit_launches();
    auto done = attention(q_, q_, q_, out_, options, [&](std::uint64_t bytes) {
      asked_.push_back(bytes);
      return memory;
    });
    launched_ = flashfit_launches() - before;
    return done;
  }

  alignas(256) char memory_[1024];
  alignas(16) std::uint16_t numbers_[2][64 * 64];  // nobody looks at them: launches are doubles
  const Tensor q_{numbers_[0], kFp16, {1, 64, 1, 64}, cuda(0)}, out_{numbers_[1], kFp16, {1, 64, 1, 64}, cuda(0)};
  std::vector<std::uint64_t> asked_;
  int launched_ = 0;
};

TEST_F(WorkspaceCpp, AllocatorIsAskedOnce) {
  const auto done = run(memory_);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_THAT(asked_, testing::ElementsAre(1000u));
  EXPECT_EQ(launched_, 1);
}

TEST_F(WorkspaceCpp, NoMemoryIsAnError) {
  const auto done = run(nullptr);
  ASSERT_FALSE(done);
  EXPECT_EQ(done.error().message, "workspace: allocate gave NULL; accepted: 1000 bytes of device memory");
  EXPECT_EQ(launched_, 0);
}

TEST_F(WorkspaceCpp, EnoughOfOnesOwnIsTaken) {
  AttentionOptions options;
  options.workspace = memory_;
  options.workspace_bytes = sizeof memory_;
  const auto done = run(nullptr, options);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_TRUE(asked_.empty());
  EXPECT_EQ(launched_, 1);
}

TEST(WorkspaceCppOfExperts, AllocatorIsAskedOnce) {
  alignas(256) static char memory[1 << 20];  // nobody looks at it, nor at the numbers
  const auto tensor = [](DLDataType dtype, std::vector<std::int64_t> shape) {
    return Tensor{memory, dtype, std::move(shape), cuda(0)};
  };
  const Tensor ids = tensor(kInt32, {2, 1}), weights = tensor(kFp32, {2, 1});
  const Tensor w13 = tensor(kFp16, {4, 64, 64}), w2 = tensor(kFp16, {4, 64, 32}), x = tensor(kFp16, {2, 64});
  const Tensor out{memory + sizeof memory / 2, kFp16, {2, 64}, cuda(0)};
  ExpertsOptions options;
  options.topk_ids = &ids, options.topk_weights = &weights;
  std::vector<std::uint64_t> asked;
  const auto give = [&](std::uint64_t bytes) -> void* {
    asked.push_back(bytes);
    return memory + sizeof memory / 2 + 4096;
  };
  const auto needed = fused_moe_workspace(x, w13, w2, out, options);
  ASSERT_TRUE(needed) << needed.error().message;
  const int before = flashfit_launches();
  const auto done = fused_moe(x, w13, w2, out, options, give);
  EXPECT_TRUE(done) << done.error().message;
  EXPECT_THAT(asked, testing::ElementsAre(*needed));
  EXPECT_GT(flashfit_launches(), before);
}

TEST(DriverMemory, GivesAWorkspaceAndTakesItBack) {
  auto* allocations = reinterpret_cast<int (*)()>(dlsym(dlopen("libcuda.so.1", RTLD_NOW), "fake_cuda_allocations"));
  ASSERT_NE(allocations, nullptr);
  const int before = flashfit_launches();
  EXPECT_EQ(driver_memory_main(), 1);  // nothing was computed
  EXPECT_EQ(flashfit_launches() - before, 1);
  EXPECT_EQ(allocations(), 0);
}

}  // namespace
}  // namespace flashfit
