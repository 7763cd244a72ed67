#include "proof/emu/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>
#include <utility>

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
    launch.begins(host_thread, i);
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

LaunchedGrid launched(const Program& program, Index3 grid, std::string kernel, std::uint32_t first_cluster) {
  return {std::move(kernel), grid, program.threads, program.cluster, first_cluster};
}

}  // namespace

Result<Stats> run_grid(const Program& program, Index3 grid, const Memory& memory, const Options& options) {
  if (Result<void> r = check(program, grid, options.kernel, options); !r) return tl::unexpected(r.error());
  Progress progress;
  const LaunchedGrid only = launched(program, grid, options.kernel, 0);
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

Result<Stats> run_dependent_grids(const GridLaunch& first, const GridLaunch& second, const Options& options) {
  for (const GridLaunch* g : {&first, &second})
    if (Result<void> r = check(g->program, g->grid, g->kernel, options); !r) return tl::unexpected(r.error());
  const LaunchedGrid one = launched(first.program, first.grid, first.kernel, 0);
  const LaunchedGrid two =
      launched(second.program, second.grid, second.kernel, static_cast<std::uint32_t>(one.clusters()));
  std::vector<Memory::Range> writable = first.memory.writable_ranges();
  for (const Memory::Range& range : second.memory.writable_ranges()) writable.push_back(range);
  LaunchState launch({one, two}, std::move(writable), options.global_races, 1);
  const auto named = [&](const std::string& kernel) {
    Options o = options;
    o.kernel = kernel;
    return o;
  };
  Machine before(first.program, first.memory, named(first.kernel), launch, 0);
  Machine after(second.program, second.memory, named(second.kernel), launch, 1);
  std::int64_t next = 0;
  // Until one of its clusters waits for the end of the first grid, or all have ended.
  const auto run_second = [&] {
    std::string finding;
    if (after.paused()) {
      launch.begins(0, one.clusters() + next - 1);
      finding = after.resume();
    }
    while (finding.empty() && !after.paused() && next < two.clusters()) {
      launch.begins(0, one.clusters() + next);
      finding = after.run_cluster(static_cast<std::uint32_t>(next++));
    }
    return finding;
  };
  std::string finding;
  for (std::int64_t i = 0; finding.empty() && i < one.clusters(); ++i) {
    launch.begins(0, i);
    finding = before.run_cluster(static_cast<std::uint32_t>(i));
    if (!before.paused()) continue;
    finding = run_second();
    launch.begins(0, i);
    if (finding.empty()) finding = before.resume();
  }
  launch.first_grid_ended();
  tsan::release(&launch);
  if (finding.empty()) finding = run_second();
  if (!finding.empty()) return fail(Code::kInternal, finding);
  Stats stats = before.stats();
  return stats += after.stats();
}

}  // namespace flashfit::emu
