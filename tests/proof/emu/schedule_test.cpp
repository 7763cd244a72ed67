#include "proof/emu/schedule.hpp"

#include <array>
#include <vector>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Order {
  std::vector<int> threads;
};

/// In which order threads reach the kernel's end.
std::vector<int> order(emu::Schedule schedule, std::uint32_t seed) {
  Order o;
  const auto ran = run_block<64>(o, [](Order& x) { x.threads.push_back(arch::thread()); }, {}, {"k", schedule, seed});
  EXPECT_TRUE(ran);
  return o.threads;
}

TEST(Schedule, OrdersAreWhatTheyAreCalled) {
  std::vector<int> up, down;
  for (int t = 0; t < 64; ++t) up.push_back(t);
  for (int t = 0; t < 64; ++t) down.push_back(63 - t);
  EXPECT_EQ(order(emu::Schedule::kRoundRobin, 1), up);
  EXPECT_EQ(order(emu::Schedule::kReversed, 1), down);
}

TEST(Schedule, RandomIsOneOrderASeed) {
  const auto one = order(emu::Schedule::kRandom, 1);
  EXPECT_EQ(one, order(emu::Schedule::kRandom, 1));
  EXPECT_NE(one, order(emu::Schedule::kRandom, 2));
  EXPECT_THAT(one, ::testing::UnorderedElementsAreArray(order(emu::Schedule::kRoundRobin, 1)));
}

TEST(Schedule, RandomReachesEveryThread) {
  emu::Scheduler scheduler(emu::Schedule::kRandom, 5);
  const std::array<std::uint32_t, 3> ready{0x00000100u, 0, 0xf0000001u};
  std::array<std::array<int, 32>, 3> met{};
  emu::ThreadIndex now{0, 8};
  for (int i = 0; i < 10000; ++i) {
    now = scheduler.next(ready, now);
    ASSERT_NE(ready[now.warp] >> now.lane & 1, 0u);
    ++met[now.warp][now.lane];
  }
  for (const int lane : {0, 28, 29, 30, 31}) EXPECT_GT(met[2][lane], 100) << lane;
  EXPECT_GT(met[0][8], 100);
}

TEST(Schedule, SaysWhenNobodyIsReady) {
  emu::Scheduler scheduler(emu::Schedule::kRoundRobin, 1);
  EXPECT_EQ(scheduler.next(std::array<std::uint32_t, 2>{}, {0, 0}).warp, -1);
}

}  // namespace
}  // namespace flashfit::testing
