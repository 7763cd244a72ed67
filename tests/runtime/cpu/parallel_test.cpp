#include "runtime/cpu/parallel.hpp"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <memory>
#include <thread>
#include <vector>

namespace flashfit::cpu {
namespace {

struct Count {
  explicit Count(int tasks, int threads) : calls(tasks), busy(threads), threads(threads) {}
  std::vector<std::atomic<int>> calls, busy;
  int threads;
  std::atomic<int> clashes{0};

  static void body(void* opaque, std::int64_t task, int slot) {
    Count& c = *static_cast<Count*>(opaque);
    if (slot < 0 || slot >= c.threads || c.busy[slot]++ != 0) ++c.clashes;
    ++c.calls[task];
    std::this_thread::yield();
    --c.busy[slot];
  }

  void run() { Pool::run(static_cast<std::int64_t>(calls.size()), threads, body, this); }

  bool right() const {
    for (const std::atomic<int>& n : calls) {
      if (n != 1) return false;
    }
    return clashes == 0;
  }
};

TEST(Pool, RunsEachTaskOnceAndSlotsAreOnesOwn) {
  for (const int threads : {1, 2, 5, 16}) {
    for (const int tasks : {0, 1, 2, 3, 100, 1000}) {
      Count count(tasks, threads);
      count.run();
      EXPECT_TRUE(count.right()) << tasks << " tasks on " << threads << " threads";
    }
  }
}

TEST(Pool, UsesMoreThanOneThread) {
  // Both tasks wait until the other has begun: only two threads can finish this.
  std::atomic<int> begun{0};
  Pool::run(
      2, 2,
      [](void* opaque, std::int64_t, int) {
        auto& n = *static_cast<std::atomic<int>*>(opaque);
        ++n;
        while (n < 2) std::this_thread::yield();
      },
      &begun);
  EXPECT_EQ(begun, 2);
}

TEST(Pool, TakesManyCallersAtATime) {
  std::vector<std::thread> callers;
  std::atomic<int> wrong{0};
  for (int t = 0; t < 6; ++t) {
    callers.emplace_back([&wrong] {
      for (int i = 0; i < 50; ++i) {
        Count count(40, 4);
        count.run();
        if (!count.right()) ++wrong;
      }
    });
  }
  for (std::thread& t : callers) t.join();
  EXPECT_EQ(wrong, 0);
}

TEST(Pool, WorksInAForkedChild) {
  Count before(100, 4);
  before.run();
  ASSERT_TRUE(before.right());
  const pid_t child = fork();
  ASSERT_GE(child, 0);
  if (child == 0) {
    alarm(20);
    Count count(100, 4);
    count.run();
    _exit(count.right() ? 0 : 1);
  }
  int status = 0;
  ASSERT_EQ(waitpid(child, &status, 0), child);
  EXPECT_TRUE(WIFEXITED(status) && WEXITSTATUS(status) == 0) << status;
  Count after(100, 4);
  after.run();
  EXPECT_TRUE(after.right());
}

TEST(Pool, DefaultIsWithinReason) {
  EXPECT_GE(default_threads(), 1);
  EXPECT_LE(default_threads(), 1024);
}

}  // namespace
}  // namespace flashfit::cpu
