#include "emu/grid.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <mutex>
#include <thread>

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

void work(const Program& program, Index3 grid, const Memory& memory, const Options& options, Progress& progress) {
  Machine machine(program, memory, options);
  const std::int64_t columns = grid.x / program.cluster;
  for (std::int64_t i; (i = progress.next++) < progress.first_finding;) {
    const Index3 first{static_cast<int>(i % columns) * program.cluster, static_cast<int>(i / columns % grid.y),
                       static_cast<int>(i / columns / grid.y)};
    std::string finding = machine.run_cluster(grid, first, static_cast<std::uint32_t>(i));
    if (finding.empty()) continue;
    const std::lock_guard lock(progress.mutex);
    if (i < progress.first_finding) {
      progress.first_finding = i;
      progress.finding = std::move(finding);
    }
  }
  const std::lock_guard lock(progress.mutex);
  progress.stats += machine.stats();
}

}  // namespace

Result<Stats> run_grid(const Program& program, Index3 grid, const Memory& memory, const Options& options) {
  if (grid.x % program.cluster != 0)
    return fail(Code::kInvalidArgument, fmt::format("{}: a grid of {} blocks along x, in clusters of {}",
                                                    options.kernel, grid.x, program.cluster));
  if (program.shared_bytes > options.shared_limit)
    return fail(Code::kInvalidArgument,
                fmt::format("{}: {} bytes of shared memory, more than the {} that the GPU gives a block",
                            options.kernel, program.shared_bytes, options.shared_limit));
  Progress progress;
  const std::int64_t clusters = std::int64_t{grid.x / program.cluster} * grid.y * grid.z;
  progress.first_finding = clusters;
  std::vector<std::thread> helpers;
  for (std::int64_t i = 1; i < std::min<std::int64_t>(options.host_threads, clusters); ++i)
    helpers.emplace_back([&] { work(program, grid, memory, options, progress); });
  work(program, grid, memory, options, progress);
  for (std::thread& helper : helpers) helper.join();
  if (!progress.finding.empty()) return fail(Code::kInternal, progress.finding);
  return progress.stats;
}

}  // namespace flashfit::emu
