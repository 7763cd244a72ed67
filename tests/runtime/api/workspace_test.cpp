// A plan that needs workspace: plan_double.cpp's asks for 1000 bytes, whatever the problem.
#include <gmock/gmock.h>

#include <vector>

#include "gpu_double.hpp"
#include "tensors.hpp"

namespace flashfit::test {
namespace {

class Workspace : public testing::Test {
 protected:
  Workspace() {
    gpu_double::launched.clear();
    call_.pretend_gpu();
    call_.args.workspace = memory_;
    call_.args.workspace_bytes = sizeof memory_;
  }
  void refused(const char* pattern) {
    EXPECT_EQ(call_.run(), FLASHFIT_INVALID_ARGUMENT);
    EXPECT_THAT(flashfit_last_error(), testing::MatchesRegex(pattern));
    EXPECT_TRUE(gpu_double::launched.empty());
  }
  Call call_ = Call::dense(DType::kF16, 1, 64, 64, 2, 2, 64);
  alignas(256) char memory_[1024];
};

TEST_F(Workspace, QueryAndPrepareDoWithoutIt) {
  call_.args.workspace = nullptr, call_.args.workspace_bytes = 0;
  std::uint64_t bytes = 0;
  EXPECT_EQ(flashfit_attention_workspace(&call_.args, &bytes), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(bytes, 1000u);
  EXPECT_EQ(flashfit_attention_prepare(&call_.args), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(flashfit_attention_workspace(&call_.args, nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "bytes: NULL; accepted: where to put the workspace's size");
  EXPECT_TRUE(gpu_double::launched.empty());
}

TEST_F(Workspace, IsTaken) {
  EXPECT_EQ(call_.run(), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_EQ(gpu_double::launched.size(), 1u);
}

TEST_F(Workspace, IsRefusedInWords) {
  const auto given = call_.args;
  call_.args.workspace = nullptr;
  refused("workspace: NULL; accepted: 1000 bytes of device memory");
  call_.args = given;
  call_.args.workspace_bytes = 999;
  refused("workspace: 999 bytes; accepted: 1000 or more");
  call_.args = given;
  call_.args.workspace = memory_ + 16;
  refused("workspace: address 0x[0-9a-f]+; accepted: multiples of 256 bytes");
  call_.args = given;
  call_.args.workspace_bytes = UINT64_MAX;
  refused("workspace: 18446744073709551615 bytes at 0x[0-9a-f]+ leave the address space");
  call_.args = given;
  call_.lse->dl.data = memory_ + 512;
  refused(
      "workspace: memory 0x[0-9a-f]+ to 0x[0-9a-f]+ overlaps lse's 0x[0-9a-f]+ to 0x[0-9a-f]+; accepted: memory "
      "of its own");
}

TEST_F(Workspace, IsNothingToCallsThatNeedNone) {
  Call cpu = Call::dense(), none = Call::dense(DType::kF16, 1, 0, 64, 2, 2, 64);
  none.pretend_gpu();
  for (Call* c : {&cpu, &none}) {
    c->args.workspace = memory_ + 1;  // off its alignment
    std::uint64_t bytes = 1;
    EXPECT_EQ(flashfit_attention_workspace(&c->args, &bytes), FLASHFIT_OK);
    EXPECT_EQ(bytes, 0u);
    EXPECT_EQ(flashfit_attention_prepare(&c->args), FLASHFIT_OK);
    EXPECT_TRUE(c->out->untouched());
    EXPECT_EQ(c->run(), FLASHFIT_OK) << flashfit_last_error();
  }
}

/// Gives the memory that `context` points to, and counts.
struct Source {
  void* memory;
  std::vector<std::uint64_t> asked = {};
  static void* give(void* context, std::uint64_t bytes) {
    auto& source = *static_cast<Source*>(context);
    source.asked.push_back(bytes);
    return source.memory;
  }
};

TEST_F(Workspace, AnAllocatorIsAskedOnceWhereNoneWasGiven) {
  Source source{memory_};
  EXPECT_EQ(flashfit_attention_run(&call_.args, Source::give, &source), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(source.asked, testing::IsEmpty());
  call_.args.workspace = nullptr, call_.args.workspace_bytes = 0;
  EXPECT_EQ(flashfit_attention_run(&call_.args, Source::give, &source), FLASHFIT_OK) << flashfit_last_error();
  EXPECT_THAT(source.asked, testing::ElementsAre(1000));
  EXPECT_EQ(gpu_double::launched.size(), 2u);
}

TEST_F(Workspace, AnAllocatorIsAskedForNothingByCallsThatFailOrNeedNone) {
  Source source{memory_};
  Call cpu = Call::dense();
  EXPECT_EQ(flashfit_attention_run(&cpu.args, Source::give, &source), FLASHFIT_OK) << flashfit_last_error();
  call_.args.workspace = nullptr;
  call_.args.softmax_scale = -1;
  EXPECT_EQ(flashfit_attention_run(&call_.args, Source::give, &source), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(source.asked, testing::IsEmpty());
}

TEST_F(Workspace, WhatAnAllocatorGivesIsCheckedToo) {
  call_.args.workspace = nullptr;
  Source odd{memory_ + 16}, empty{nullptr};
  EXPECT_EQ(flashfit_attention_run(&call_.args, Source::give, &odd), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("workspace: address 0x"));
  EXPECT_EQ(flashfit_attention_run(&call_.args, Source::give, &empty), FLASHFIT_OUT_OF_MEMORY);
  EXPECT_STREQ(flashfit_last_error(), "workspace: allocate gave NULL; accepted: 1000 bytes of device memory");
  EXPECT_EQ(flashfit_attention_run(&call_.args, nullptr, nullptr), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_STREQ(flashfit_last_error(), "workspace: NULL; accepted: 1000 bytes of device memory");
  EXPECT_TRUE(gpu_double::launched.empty());
}

TEST_F(Workspace, QueryChecksTheSameArguments) {
  call_.args.softmax_scale = -1;
  std::uint64_t bytes = 1;
  EXPECT_EQ(flashfit_attention_workspace(&call_.args, &bytes), FLASHFIT_INVALID_ARGUMENT);
  EXPECT_THAT(flashfit_last_error(), testing::StartsWith("softmax_scale: -1"));
  EXPECT_EQ(bytes, 0u);
  EXPECT_EQ(flashfit_attention_prepare(&call_.args), FLASHFIT_INVALID_ARGUMENT);
}

}  // namespace
}  // namespace flashfit::test
