#include "runtime/images/build/workers.hpp"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace flashfit {
namespace {

TEST(Workers, EachItemIsDoneOnce) {
  for (const int processes : {1, 3, 50}) {
    std::multiset<int> done;
    const Result<void> ran =
        run_in_processes(20, processes, [](int) { return Result<void>(); }, [&](int i) { done.insert(i); });
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(done.size(), 20u);
    EXPECT_EQ(std::set<int>(done.begin(), done.end()).size(), 20u);
  }
  EXPECT_TRUE(run_in_processes(0, 2, [](int) { return fail(Code::kInternal, "never called"); }, [](int) {}));
}

TEST(Workers, AnErrorIsHandedOnWhole) {
  const Result<void> ran = run_in_processes(
      10, 2, [](int i) { return i == 4 ? Result<void>(fail(Code::kInternal, "item 4:\nits log")) : Result<void>(); },
      [](int) {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "item 4:\nits log");
}

TEST(Workers, LongErrorsOfSeveralWorkersDoNotMix) {
  const Result<void> ran = run_in_processes(
      8, 8, [](int i) { return Result<void>(fail(Code::kInternal, std::string(100000, char('a' + i)))); }, [](int) {});
  ASSERT_FALSE(ran);
  const std::string& message = ran.error().message;
  EXPECT_GT(message.size(), 4000u);
  EXPECT_EQ(message.find_first_not_of(message[0]), std::string::npos);
}

TEST(Workers, AWorkerThatDiesIsNoticed) {
  const Result<void> ran = run_in_processes(
      10, 2,
      [](int i) {
        if (i == 3) std::_Exit(0);
        return Result<void>();
      },
      [](int) {});
  ASSERT_FALSE(ran);
  EXPECT_EQ(ran.error().message, "a worker died: 9 of 10 images were made");
}

}  // namespace
}  // namespace flashfit
