#include "sync_cases.hpp"

#include <cstddef>
#include <cstdio>

#include "bulk_reduce.cuh"
#include "bulk_store.cuh"
#include "cached.cuh"
#include "chain.cuh"
#include "copy_arrive.cuh"
#include "dependent.cuh"
#include "exchange.cuh"
#include "last_block.cuh"
#include "multicast.cuh"
#include "pass_on.cuh"
#include "ping_pong.cuh"
#include "pipeline.cuh"
#include "roles.cuh"
#include "round_trip.cuh"
#include "tile_counter.cuh"

namespace flashfit::testing {
namespace {

constexpr int kTiles = 5;  // a stage of two is used three times

/// Small whole numbers, of which every sum and product here is exact. Aligned as bulk copies want it.
struct Floats {
  explicit Floats(int count) : storage(static_cast<std::size_t>(count) + 4), size(count) {
    for (int i = 0; i < count; ++i) data()[i] = static_cast<float>(i * 7 % 23 - 11);
  }
  float* data() {
    auto at = reinterpret_cast<std::uintptr_t>(storage.data());
    return reinterpret_cast<float*>((at + 15) / 16 * 16);
  }
  std::size_t bytes() const { return static_cast<std::size_t>(size) * sizeof(float); }
  float& operator[](int i) { return data()[i]; }

  std::vector<float> storage;
  int size;
};

template <class Expected>
std::string verdict(const Result<emu::Stats>& ran, Floats& y, Expected expected) {
  if (!ran) return "finding: " + ran.error().message;
  for (int i = 0; i < y.size; ++i)
    if (!(y[i] == expected(i)))
      return "wrong: element " + std::to_string(i) + " is " + std::to_string(y[i]) + ", not " +
             std::to_string(expected(i));
  return {};
}

/// A kernel with Params {x, y, ...}.
template <class Kernel, class Expected, class... More>
std::string run(const emu::Options& options, int blocks, Floats& x, Floats& y, Expected expected, More... more) {
  emu::Memory memory;
  memory.read_only("x", x.data(), x.bytes()).writable("y", y.data(), y.bytes());
  return verdict(emu::launch<Kernel>({blocks, 1, 1}, {x.data(), y.data(), more...}, memory, options), y, expected);
}

std::string pipeline(const emu::Options& options) {
  Floats x(kTiles * PipelineKernel::kTile), y(x.size);
  return run<PipelineKernel>(options, 1, x, y, [&](int i) { return 2 * x[i]; }, kTiles);
}

std::string multicast(const emu::Options& options) {
  const int each = kTiles * MulticastKernel::kTile;
  Floats x(each), y(MulticastKernel::kCluster * each);
  return run<MulticastKernel>(
      options, MulticastKernel::kCluster, x, y,
      [&](int i) {
        const int factor = i / each + 1;
        return static_cast<float>(factor) * x[i % each];
      },
      kTiles);
}

std::string bulk_store(const emu::Options& options) {
  Floats x(kTiles * BulkStoreKernel::kTile), y(x.size);
  return run<BulkStoreKernel>(options, 1, x, y, [&](int i) { return x[i] + 1; }, kTiles);
}

std::string bulk_reduce(const emu::Options& options) {
  constexpr int kBlocks = 4, kTile = BulkReduceKernel::kTile;
  Floats x(kBlocks * kTile), y(kTile), before(kTile);
  return run<BulkReduceKernel>(options, kBlocks, x, y, [&](int i) {
    float sum = before[i];
    for (int b = 0; b < kBlocks; ++b) sum += x[b * kTile + i];
    return sum;
  });
}

std::string ping_pong(const emu::Options& options) {
  constexpr int kTurns = 6;
  Floats x(PingPongKernel::kGroup), y(x.size);
  return run<PingPongKernel>(
      options, 1, x, y,
      [&](int i) {
        float v = x[i];
        for (int turn = 0; turn < kTurns; ++turn) v = 3 * v + static_cast<float>(turn % 2);
        return v;
      },
      kTurns);
}

std::string roles(const emu::Options& options) {
  Floats x(RolesKernel::kTile), y(x.size);
  return run<RolesKernel>(options, 1, x, y, [&](int i) { return x[i] * x[i]; });
}

std::string round_trip(const emu::Options& options) {
  Floats x(RoundTripKernel::kTile), y(x.size);
  return run<RoundTripKernel>(options, 1, x, y, [&](int i) { return 2 * (x[i] + 1); });
}

std::string exchange(const emu::Options& options) {
  constexpr int kBlocks = ExchangeKernel::kCluster, kThreads = ExchangeKernel::kThreads;
  Floats x(kBlocks * kBlocks * kThreads), y(kBlocks * kThreads);
  return run<ExchangeKernel>(options, kBlocks, x, y, [&](int i) {
    float sum = 0;
    for (int from = 0; from < kBlocks; ++from) sum += x[(from * kBlocks + i / kThreads) * kThreads + i % kThreads];
    return sum;
  });
}

/// Integers that start at 0.
struct Counters {
  explicit Counters(int count) : values(static_cast<std::size_t>(count)) {}
  int* data() { return values.data(); }
  std::size_t bytes() const { return values.size() * sizeof(int); }

  std::vector<int> values;
};

std::string tile_counter(const emu::Options& options) {
  constexpr int kBlocks = 3, kTile = TileCounterKernel::kTile;
  Floats x(kTiles * kTile), y(x.size);
  Counters counters(2);
  emu::Memory memory;
  memory.read_only("x", x.data(), x.bytes()).writable("y", y.data(), y.bytes());
  memory.writable("counters", counters.data(), counters.bytes());
  const auto ran =
      emu::launch<TileCounterKernel>({kBlocks, 1, 1}, {x.data(), y.data(), counters.data(), kTiles}, memory, options);
  if (ran && counters.values != std::vector<int>{kTiles + kBlocks, kTiles * kTile}) return "wrong: the counters";
  return verdict(ran, y, [&](int i) { return 3 * x[i]; });
}

std::string last_block(const emu::Options& options) {
  constexpr int kBlocks = 5, kTile = LastBlockKernel::kTile;
  Floats x(kBlocks * kTile), y(kTile), parts(x.size);
  Counters done(1);
  emu::Memory memory;
  memory.read_only("x", x.data(), x.bytes()).writable("y", y.data(), y.bytes());
  memory.writable("parts", parts.data(), parts.bytes()).writable("done", done.data(), done.bytes());
  return verdict(
      emu::launch<LastBlockKernel>({kBlocks, 1, 1}, {x.data(), y.data(), parts.data(), done.data()}, memory, options),
      y, [&](int i) {
        float sum = 0;
        for (int b = 0; b < kBlocks; ++b) sum += x[b * kTile + i];
        return sum;
      });
}

std::string chain(const emu::Options& options) {
  constexpr int kBlocks = 6, kTile = ChainKernel::kTile;
  Floats x(kBlocks * kTile), y(x.size);
  Counters flags(kBlocks);
  emu::Memory memory;
  memory.read_only("x", x.data(), x.bytes()).writable("y", y.data(), y.bytes());
  memory.writable("flags", flags.data(), flags.bytes());
  return verdict(emu::launch<ChainKernel>({kBlocks, 1, 1}, {x.data(), y.data(), flags.data()}, memory, options), y,
                 [&](int i) {
                   float sum = 0;
                   for (int at = i % kTile; at <= i; at += kTile) sum += x[at];
                   return sum;
                 });
}

template <bool Counted>
std::string copy_arrive(const emu::Options& options) {
  Floats x(kTiles * CopyArriveKernel<Counted>::kTile), y(x.size);
  return run<CopyArriveKernel<Counted>>(options, 1, x, y, [&](int i) { return 2 * x[i]; }, kTiles);
}

std::string pass_on(const emu::Options& options) {
  constexpr int kBlocks = PassOnKernel::kCluster, kTile = PassOnKernel::kTile;
  Floats x(kBlocks * kTile), y(x.size);
  return run<PassOnKernel>(options, kBlocks, x, y, [&](int i) { return x[i] + x[(i + x.size - kTile) % x.size]; });
}

std::string cached(const emu::Options& options) {
  Floats x(4 * CachedKernel::kQuarter), y(x.size);
  return run<CachedKernel>(options, 1, x, y, [&](int i) { return x[i]; }, 0.5f);
}

std::string dependent(const emu::Options& options) {
  constexpr int kBlocks = 2;
  Floats x(kBlocks * FirstKernel::kThreads), y(x.size), w(x.size), z(x.size);
  emu::Memory first, second;
  first.read_only("x", x.data(), x.bytes()).writable("y", y.data(), y.bytes());
  second.read_only("w", w.data(), w.bytes()).read_only("y", y.data(), y.bytes()).writable("z", z.data(), z.bytes());
  const FirstKernel::Params p{x.data(), y.data()};
  const SecondKernel::Params q{w.data(), y.data(), z.data()};
  return verdict(emu::launch_dependent<FirstKernel, SecondKernel>({"first", {kBlocks, 1, 1}, p, first},
                                                                  {"second", {kBlocks, 1, 1}, q, second}, options),
                 z, [&](int i) { return w[i] * (x[i] + 1); });
}

}  // namespace

const std::vector<HopperCase>& hopper_cases() {
  static const std::vector<HopperCase> cases = {{"pipeline", pipeline},
                                                {"multicast", multicast},
                                                {"bulk_store", bulk_store},
                                                {"bulk_reduce", bulk_reduce},
                                                {"ping_pong", ping_pong},
                                                {"roles", roles},
                                                {"exchange", exchange},
                                                {"dependent", dependent},
                                                {"round_trip", round_trip},
                                                {"tile_counter", tile_counter},
                                                {"last_block", last_block},
                                                {"chain", chain},
                                                {"copy_arrive", copy_arrive<false>},
                                                {"copy_arrive_noinc", copy_arrive<true>},
                                                {"pass_on", pass_on},
                                                {"cached", cached}};
  return cases;
}

std::vector<emu::Options> hopper_schedules() {
  std::vector<emu::Options> all = {{.schedule = emu::Schedule::kRoundRobin}, {.schedule = emu::Schedule::kReversed}};
  for (std::uint32_t seed = 1; seed <= 10; ++seed) all.push_back({.schedule = emu::Schedule::kRandom, .seed = seed});
  return all;
}

std::string first_hopper_defect(std::size_t each) {
  const std::vector<emu::Options> schedules = hopper_schedules();
  for (const HopperCase& c : hopper_cases())
    for (std::size_t i = 0; i < schedules.size(); i += each) {
      emu::Options options = schedules[i];
      options.kernel = c.name;
      if (std::string defect = c.defect(options); !defect.empty()) return defect;
    }
  return {};
}

}  // namespace flashfit::testing
