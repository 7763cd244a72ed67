#include "proof/emu/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <memory>
#include <mutex>
#include <thread>
#include <utility>
#include <vector>

#include "proof/emu/thread_sanitizer.hpp"

namespace flashfit::emu {
namespace {

/// What all host threads share. Clusters are taken in the grid's order, so none
/// before a finding's is left out.
struct Progress {
  std::atomic<std::int64_t> next{0}, first_finding;
  std::mutex mutex;
  std::string finding;
  Stats stats;
};

void work(const Program& program, const Memory& memory, const Options& options, int host_thread, LaunchState& launch,
          Progress& progress) {
  Machine machine(program, memory, options, launch);
  for (std::int64_t i; (i = progress.next++) < progress.first_finding;) {
    launch.begins(host_thread, launch.grids()[0].first_cluster + i);
    std::string finding = machine.run_cluster(static_cast<std::uint32_t>(i));
    if (finding.empty()) continue;
    const std::lock_guard lock(progress.mutex);
    if (i < progress.first_finding) {
      progress.first_finding = i;
      progress.finding = std::move(finding);
    }
  }
  launch.ends(host_thread);
  const std::lock_guard lock(progress.mutex);
  progress.stats += machine.stats();
}

Result<void> check(const Program& program, Index3 grid, const std::string& kernel, const Options& options) {
  if (grid.x % program.cluster != 0)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: a grid of {} blocks along x, in clusters of {}", kernel, grid.x, program.cluster));
  if (program.shared_bytes > options.shared_limit)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} bytes of shared memory, more than the {} that the GPU gives a block", kernel,
                            program.shared_bytes, options.shared_limit));
  return {};
}

/// Grids of a launch, of which each may begin before the one before it has ended.
class DependentGrids {
 public:
  DependentGrids(std::span<const GridLaunch> grids, const Options& options, LaunchState& launch)
      : launch_(launch), next_(grids.size()) {
    for (const GridLaunch& g : grids) {
      Options named = options;
      named.kernel = g.kernel;
      machines_.push_back(
          std::make_unique<Machine>(g.program, g.memory, named, launch, static_cast<int>(machines_.size())));
    }
  }

  Result<Stats> run() {
    if (const std::string finding = advance(0); !finding.empty()) return fail(Code::kInternal, finding);
    Stats all{};
    for (const auto& machine : machines_) all += machine->stats();
    return all;
  }

 private:
  /// Runs grid g until one of its clusters waits for the end of the grid before, or all have ended; and those after it
  /// as far as they may run by then. Returns the finding that ended it, or "".
  std::string advance(std::size_t g) {
    if (g == machines_.size() || launch_.has_ended(static_cast<int>(g))) return {};
    Machine& machine = *machines_[g];
    const LaunchedGrid& grid = launch_.grids()[g];
    while (machine.paused() != Machine::Paused::kNo || next_[g] < grid.clusters()) {
      const bool goes_on = machine.paused() != Machine::Paused::kNo;
      const std::int64_t cluster = goes_on ? next_[g] - 1 : next_[g]++;
      launch_.begins(0, grid.first_cluster + cluster);
      std::string finding = goes_on ? machine.resume() : machine.run_cluster(static_cast<std::uint32_t>(cluster));
      if (!finding.empty() || machine.paused() == Machine::Paused::kWaits) return finding;
      if (machine.paused() == Machine::Paused::kLaunches) finding = advance(g + 1);
      if (!finding.empty()) return finding;
    }
    launch_.grid_ended(static_cast<int>(g));
    tsan::release(launch_.end_of(static_cast<int>(g)));
    return advance(g + 1);
  }

  LaunchState& launch_;
  std::vector<std::unique_ptr<Machine>> machines_;
  std::vector<std::int64_t> next_;  ///< cluster of each grid
};

LaunchedGrid launched(const Program& program, Index3 grid, std::string kernel, std::uint32_t first_cluster) {
  return {std::move(kernel), grid, program.threads, program.cluster, first_cluster};
}

/// Of the launch's first grid.
std::uint32_t first_cluster(const Options& options) { return options.begins_early ? 1 : 0; }

}  // namespace

Result<Stats> run_grid(const Program& program, Index3 grid, const Memory& memory, const Options& options) {
  if (Result<void> r = check(program, grid, options.kernel, options); !r) return tl::unexpected(r.error());
  Progress progress;
  const LaunchedGrid only = launched(program, grid, options.kernel, first_cluster(options));
  const std::int64_t clusters = only.clusters();
  progress.first_finding = clusters;
  const int host_threads = static_cast<int>(std::clamp<std::int64_t>(clusters, 1, std::max(options.host_threads, 1)));
  LaunchState launch({only}, memory.writable_ranges(), options.global_races, host_threads);
  std::vector<std::thread> helpers;
  for (int i = 1; i < host_threads; ++i)
    helpers.emplace_back([&, i] { work(program, memory, options, i, launch, progress); });
  work(program, memory, options, 0, launch, progress);
  for (std::thread& helper : helpers) helper.join();
  if (!progress.finding.empty()) return fail(Code::kInternal, progress.finding);
  return progress.stats;
}

Result<Stats> run_dependent_grids(std::span<const GridLaunch> grids, const Options& options) {
  std::vector<LaunchedGrid> all;
  std::vector<Memory::Range> writable;
  for (const GridLaunch& g : grids) {
    if (Result<void> r = check(g.program, g.grid, g.kernel, options); !r) return tl::unexpected(r.error());
    const std::int64_t first = all.empty() ? first_cluster(options) : all.back().first_cluster + all.back().clusters();
    all.push_back(launched(g.program, g.grid, g.kernel, static_cast<std::uint32_t>(first)));
    for (const Memory::Range& range : g.memory.writable_ranges()) writable.push_back(range);
  }
  LaunchState launch(std::move(all), std::move(writable), options.global_races, 1);
  return DependentGrids(grids, options, launch).run();
}

}  // namespace flashfit::emu
