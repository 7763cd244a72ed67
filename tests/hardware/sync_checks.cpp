// The kernels of tests/emu/hopper that synchronise: mbarriers, named barriers, bulk copies, clusters.
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
      one<ExchangeKernel>("exchange", ExchangeKernel::kCluster,
                          ExchangeKernel::kCluster * ExchangeKernel::kCluster * ExchangeKernel::kThreads,
                          ExchangeKernel::kCluster * ExchangeKernel::kThreads),
      one<FirstKernel>("first", 2, 2 * FirstKernel::kThreads, 2 * FirstKernel::kThreads),
      {"hopper", "second", second}};
}

}  // namespace flashfit::hardware
