#pragma once
// A kernel of a few lines: one block that calls a function on every thread.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "kernels/arch/arch.hpp"
#include "proof/emu/launch.hpp"

namespace flashfit::testing {

struct NoShared {};

/// Body is a stateless callable that takes `Args&`, which the test reads afterwards.
template <int Threads, class Args, class Body, class SharedMemory = NoShared>
struct SmallKernel {
  using Params = Args*;
  using Shared = SharedMemory;
  static constexpr int kThreads = Threads, kMinBlocks = 1;
  static void run(const Params& args) { Body{}(*args); }
};

/// Runs `body` on one block.
template <int Threads, class Shared = NoShared, class Args, class Body>
Result<emu::Stats> run_block(Args& args, Body, const emu::Memory& memory = {}, const emu::Options& options = {}) {
  return emu::launch<SmallKernel<Threads, Args, Body, Shared>>({1, 1, 1}, &args, memory, options);
}

/// Expects that the launch ended with a line that has all of the parts.
template <class... Parts>
void expect_finding(const Result<emu::Stats>& ran, const Parts&... parts) {
  ASSERT_FALSE(ran) << "no finding";
  EXPECT_THAT(ran.error().message, ::testing::AllOf(::testing::HasSubstr(parts)...));
  EXPECT_THAT(ran.error().message, ::testing::Not(::testing::HasSubstr("\n")));
}

}  // namespace flashfit::testing
