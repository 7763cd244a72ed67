// The kernels of tests/proof/emu/hopper that synchronise: mbarriers, named barriers, bulk copies, clusters.
#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "hardware/both.hpp"
#include "hardware/hopper_kernels.cuh"

namespace flashfit::hardware {
namespace {

std::vector<float> small_numbers(int count) {
  std::vector<float> values;
  for (int i = 0; i < count; ++i) values.push_back(static_cast<float>(i * 7 % 23 - 11));
  return values;
}

/// A kernel with Params {x, y, more...}: the same floats in y from both.
template <class Kernel, class... More>
Check one(const char* name, int blocks, int x_count, int y_count, More... more) {
  return {"hopper", name, [=](const Place& place) {
            lab::Trial<Kernel> trial{name, {blocks}, {}, [=](const lab::Where& where) {
                                       return typename Kernel::Params{where.as<const float>(0), where.as<float>(1),
                                                                      more...};
                                     }};
            trial.buffers = {{"x", small_numbers(x_count)}, {"y", y_count * sizeof(float), true}};
            const std::vector<float> before = small_numbers(y_count);
            std::copy(before.begin(), before.end(), trial.buffers[1].template as<float>().begin());
            Outcome outcome;
            Both<Kernel> both(trial, place, outcome);
            if (both.ran) outcome.demand("gpu_and_emulator", both.template compare<float>(1));
            return outcome;
          }};
}

/// A kernel with Params {x, y, more buffers, more...}: those buffers' numbers are of type T, 0 at first, so many each.
template <class Kernel, class... T, class... More>
Check with_zeros(const char* name, int blocks, int x_count, int y_count, std::array<int, sizeof...(T)> counts,
                 More... more) {
  return {"hopper", name, [=](const Place& place) {
            lab::Trial<Kernel> trial{name, {blocks}, {}, [=](const lab::Where& where) {
                                       std::size_t i = 2;
                                       return typename Kernel::Params{where.as<const float>(0), where.as<float>(1),
                                                                      where.as<T>(i++)..., more...};
                                     }};
            trial.buffers = {{"x", small_numbers(x_count)}, {"y", y_count * sizeof(float), true}};
            for (const int count : counts) {
              lab::Buffer& zeros = trial.buffers.emplace_back("zeros", static_cast<std::size_t>(count) * 4, true);
              std::fill_n(zeros.data(), zeros.size(), std::byte{0});
            }
            Outcome outcome;
            Both<Kernel> both(trial, place, outcome);
            if (!both.ran) return outcome;
            for (std::size_t i = 1; i < trial.buffers.size(); ++i)
              outcome.demand(i == 1 ? "gpu_and_emulator" : fmt::format("zeros_{}", i),
                             both.template compare<std::uint32_t>(i));
            return outcome;
          }};
}

/// The second grid begins while the first still writes what it waits for.
Outcome dependent(const Place& place) {
  using First = testing::FirstKernel;
  using Second = testing::SecondKernel;
  constexpr int kBlocks = 200, kCount = kBlocks * First::kThreads;
  lab::DependentTrial<First, Second> trial{
      {"first", {kBlocks}, [](const lab::Where& at) { return First::Params{at.as<const float>(0), at.as<float>(1)}; }},
      {"second",
       {kBlocks},
       [](const lab::Where& at) {
         return Second::Params{at.as<const float>(0), at.as<const float>(1), at.as<float>(2)};
       }},
      {}};
  trial.buffers = {
      {"x", small_numbers(kCount)}, {"y", kCount * sizeof(float), true}, {"z", kCount * sizeof(float), true}};
  Outcome outcome;
  BothOf<lab::DependentTrial<First, Second>> both(trial, place, outcome);
  if (both.ran) outcome.demand("gpu_and_emulator", both.compare<float>(2));
  return outcome;
}

Outcome second(const Place& place) {
  using Kernel = testing::SecondKernel;
  constexpr int kCount = 2 * Kernel::kThreads;
  lab::Trial<Kernel> trial{"second", {2}, {}, [](const lab::Where& where) {
                             return Kernel::Params{where.as<const float>(0), where.as<const float>(1),
                                                   where.as<float>(2)};
                           }};
  trial.buffers = {{"w", small_numbers(kCount)}, {"y", small_numbers(kCount)}, {"z", kCount * sizeof(float), true}};
  Outcome outcome;
  Both<Kernel> both(trial, place, outcome);
  if (both.ran) outcome.demand("gpu_and_emulator", both.compare<float>(2));
  return outcome;
}

}  // namespace

std::vector<Check> sync_checks() {
  using namespace testing;  // NOLINT(google-build-using-namespace): the kernels' own
  constexpr int kTiles = 5;
  return {
      one<PipelineKernel>("pipeline", 1, kTiles * PipelineKernel::kTile, kTiles * PipelineKernel::kTile, kTiles),
      one<MulticastKernel>("multicast", MulticastKernel::kCluster, kTiles * MulticastKernel::kTile,
                           MulticastKernel::kCluster * kTiles * MulticastKernel::kTile, kTiles),
      one<BulkStoreKernel>("bulk_store", 1, kTiles * BulkStoreKernel::kTile, kTiles * BulkStoreKernel::kTile, kTiles),
      one<BulkReduceKernel>("bulk_reduce", 4, 4 * BulkReduceKernel::kTile, BulkReduceKernel::kTile),
      one<PingPongKernel>("ping_pong", 1, PingPongKernel::kGroup, PingPongKernel::kGroup, 6),
      one<RolesKernel>("roles", 1, RolesKernel::kTile, RolesKernel::kTile),
      one<RoundTripKernel>("round_trip", 1, RoundTripKernel::kTile, RoundTripKernel::kTile),
      one<ExchangeKernel>("exchange", ExchangeKernel::kCluster,
                          ExchangeKernel::kCluster * ExchangeKernel::kCluster * ExchangeKernel::kThreads,
                          ExchangeKernel::kCluster * ExchangeKernel::kThreads),
      one<FirstKernel>("first", 2, 2 * FirstKernel::kThreads, 2 * FirstKernel::kThreads),
      {"hopper", "second", second},
      {"hopper", "dependent", dependent},
      with_zeros<TileCounterKernel, int>("tile_counter", 100, 1000 * TileCounterKernel::kTile,
                                         1000 * TileCounterKernel::kTile, {2}, 1000),
      with_zeros<LastBlockKernel, float, int>("last_block", 64, 64 * LastBlockKernel::kTile, LastBlockKernel::kTile,
                                              {64 * LastBlockKernel::kTile, 1}),
      with_zeros<ChainKernel, int>("chain", 64, 64 * ChainKernel::kTile, 64 * ChainKernel::kTile, {64}),
      one<CopyArriveKernel<false>>("copy_arrive", 1, kTiles * 128, kTiles * 128, kTiles),
      one<CopyArriveKernel<true>>("copy_arrive_noinc", 1, kTiles * 128, kTiles * 128, kTiles),
      one<PassOnKernel>("pass_on", PassOnKernel::kCluster, PassOnKernel::kCluster * PassOnKernel::kTile,
                        PassOnKernel::kCluster * PassOnKernel::kTile),
      one<CachedKernel>("cached", 1, 4 * CachedKernel::kQuarter, 4 * CachedKernel::kQuarter, 0.5f)};
}

}  // namespace flashfit::hardware
