#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

#include "kernel.hpp"

namespace flashfit::testing {
namespace {

struct Places {
  std::array<std::array<int, 4>, 96> seen{};  ///< thread -> block.x, grid.y, warp, lane
};

TEST(Places, EachThreadKnowsItsOwn) {
  Places places;
  const auto ran = run_block<96>(places, [](Places& p) {
    arch::sync_block();
    p.seen[arch::thread()] = {arch::block().x, arch::grid().y, arch::warp(), arch::lane()};
  });
  ASSERT_TRUE(ran) << ran.error().message;
  for (int t = 0; t < 96; ++t) EXPECT_EQ(places.seen[t], (std::array{0, 1, t / 32, t % 32}));
  EXPECT_EQ(ran->barriers, 96u);
}

struct Answers {
  std::array<std::array<bool, 4>, 96> seen{};  ///< thread -> round
};

TEST(Places, ABlockHearsWhoSaidSoInThatRoundAlone) {
  Answers answers;
  const auto ran = run_block<96>(answers, [](Answers& a) {
    for (int round = 0; round < 4; ++round)
      a.seen[arch::thread()][round] = arch::sync_block_or(round % 2 == 1 && arch::thread() == 31 * round);
  });
  ASSERT_TRUE(ran) << ran.error().message;
  for (int t = 0; t < 96; ++t) EXPECT_EQ(answers.seen[t], (std::array{false, true, false, true})) << "thread " << t;
  EXPECT_EQ(ran->barriers, 4 * 96u);
}

struct Grid {
  using Params = Grid*;
  using Shared = NoShared;
  static constexpr int kThreads = 32;
  std::set<std::array<int, 3>> blocks;
  static void run(const Params& p) {
    if (arch::lane() == 0) p->blocks.insert({arch::block().x, arch::block().y, arch::block().z});
  }
};

TEST(Places, AllBlocksRun) {
  Grid grid;
  const auto ran = emu::launch<Grid>({3, 4, 5}, &grid, {});
  ASSERT_TRUE(ran);
  EXPECT_EQ(ran->blocks, 60u);
  EXPECT_EQ(grid.blocks.size(), 60u);
  EXPECT_EQ(emu::launch<Grid>({0, 1, 1}, &grid, {})->blocks, 0u);
}

TEST(Scalars, AsTheContractSays) {
  constexpr float kInfinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(arch::exp2(-kInfinity), 0);
  EXPECT_EQ(arch::exp2(3), 8);
  EXPECT_EQ(arch::log2(0), -kInfinity);
  EXPECT_EQ(arch::log2(8), 3);
  EXPECT_EQ(arch::max(1, 2), 2);
  EXPECT_EQ(arch::multiply_add(2, 3, 4), 10);
  EXPECT_EQ(arch::count_bits(0x80000101u), 3);
  EXPECT_EQ(arch::max(0, -1), 0);
  EXPECT_EQ(arch::max(-1, 0), 0);
  EXPECT_FALSE(std::signbit(arch::max(-0.f, 0)) || std::signbit(arch::max(0, -0.f)));
  EXPECT_EQ(arch::max(NAN, 2), 2);
  EXPECT_EQ(arch::max(2, NAN), 2);
  EXPECT_TRUE(std::isnan(arch::max(NAN, NAN)));
  EXPECT_EQ(arch::max_or_nan(-2, -1), -1);
  EXPECT_FALSE(std::signbit(arch::max_or_nan(-0.f, 0)));
  EXPECT_TRUE(std::isnan(arch::max_or_nan(NAN, 2)) && std::isnan(arch::max_or_nan(2, NAN)));
  EXPECT_EQ(arch::pack<f16>(1, -2), 0xc0003c00u);
  EXPECT_EQ(arch::pack<bf16>(1, -2), 0xc0003f80u);
  EXPECT_EQ(arch::widen(f16{0xc000}), -2);
  EXPECT_EQ(arch::widen(bf16{0xc000}), -2);
}

struct Lanes {
  std::array<float, 64> value{};
  std::array<uint32, 64> votes{};
};

TEST(Warp, ShufflesAndVotesStayInTheWarp) {
  for (const auto schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    Lanes lanes;
    const auto ran = run_block<64>(lanes,
                                   [](Lanes& l) {
                                     l.value[arch::thread()] = arch::shuffle_xor(static_cast<float>(arch::thread()), 5);
                                     l.votes[arch::thread()] = arch::ballot(arch::thread() % 9 == 4);
                                   },
                                   {}, {.kernel = "k", .schedule = schedule, .seed = 3});
    ASSERT_TRUE(ran);
    for (int t = 0; t < 64; ++t) {
      EXPECT_EQ(lanes.value[t], t ^ 5);
      EXPECT_EQ(lanes.votes[t], t < 32 ? 0x80402010u : 0x04020100u) << t;
    }
    EXPECT_EQ(ran->shuffles, 2u);
    EXPECT_EQ(ran->votes, 2u);
  }
}

struct Integers {
  std::array<std::array<int, 5>, 64> of_int{};
  std::array<std::array<uint32, 5>, 64> of_uint32{};
};

TEST(Warp, IntegersAreExchangedAndReducedInTheWarp) {
  for (const auto schedule : {emu::Schedule::kRoundRobin, emu::Schedule::kReversed, emu::Schedule::kRandom}) {
    Integers seen;
    const auto ran =
        run_block<64>(seen,
                      [](Integers& to) {
                        const int x = 3 - arch::thread() * 0x4000001, from = arch::lane() / 2;
                        const auto u = static_cast<uint32>(x);
                        to.of_int[arch::thread()] = {arch::shuffle_xor(x, 5), arch::shuffle(x, from), arch::warp_sum(x),
                                                     arch::warp_min(x), arch::warp_max(x)};
                        to.of_uint32[arch::thread()] = {arch::shuffle_xor(u, 5), arch::shuffle(u, from),
                                                        arch::warp_sum(u), arch::warp_min(u), arch::warp_max(u)};
                      },
                      {}, {.kernel = "k", .schedule = schedule, .seed = 3});
    ASSERT_TRUE(ran) << ran.error().message;
    EXPECT_EQ(ran->shuffles, 20u);
    const auto number = [](int t) { return static_cast<uint32>(3) - static_cast<uint32>(t) * 0x4000001u; };
    for (int t = 0; t < 64; ++t) {
      const int warp = t / 32 * 32;
      uint32 sum = 0, least = ~0u, most = 0;
      int least_int = std::numeric_limits<int>::max(), most_int = std::numeric_limits<int>::min();
      for (int l = warp; l < warp + 32; ++l) {
        sum += number(l);
        least = std::min(least, number(l)), most = std::max(most, number(l));
        least_int = std::min(least_int, static_cast<int>(number(l)));
        most_int = std::max(most_int, static_cast<int>(number(l)));
      }
      const uint32 other = number(t ^ 5), half = number(warp + t % 32 / 2);
      EXPECT_EQ(seen.of_uint32[t], (std::array{other, half, sum, least, most})) << t;
      EXPECT_EQ(seen.of_int[t], (std::array{static_cast<int>(other), static_cast<int>(half), static_cast<int>(sum),
                                            least_int, most_int}))
          << t;
    }
  }
}

TEST(Warp, ShufflesAskLanesThatThereAre) {
  Lanes lanes;
  expect_finding(run_block<32>(lanes, [](Lanes&) { arch::shuffle(1.f, arch::lane() + 1); }),
                 "shuffle from lane 32, asked for by lane 31: 0 to 31 are accepted");
}

}  // namespace
}  // namespace flashfit::testing
