#pragma once
// What all host threads of a launch share.
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "proof/emu/atomics.hpp"
#include "proof/emu/global_accesses.hpp"
#include "proof/emu/index3.hpp"

namespace flashfit::emu {

/// A grid of the launch: one, or several, each of which may begin before the one before it has ended.
struct LaunchedGrid {
  std::string kernel;
  Index3 grid;
  int block_threads, cluster;  ///< threads of a block, blocks of a cluster
  /// Clusters count over the launch's grids; if the first grid begins early, from 1 on: cluster 0 stands for all that
  /// was queued before it.
  std::uint32_t first_cluster;

  std::int64_t clusters() const { return std::int64_t{grid.x / cluster} * grid.y * grid.z; }
  std::int64_t blocks() const { return std::int64_t{grid.x} * grid.y * grid.z; }
  /// Of its cluster of that number, counted in the launch.
  Index3 first_block_of(std::uint32_t number) const {
    const std::int64_t columns = grid.x / cluster, i = number - first_cluster;
    return {static_cast<int>(i % columns) * cluster, static_cast<int>(i / columns % grid.y),
            static_cast<int>(i / columns / grid.y)};
  }
};

class LaunchState {
 public:
  /// Of grids that may write these bytes. `global_races`: see Options.
  LaunchState(std::vector<LaunchedGrid> grids, std::vector<Memory::Range> writable, bool global_races, int host_threads)
      : grids_(std::move(grids)), running_(static_cast<std::size_t>(host_threads)) {
    for (const LaunchedGrid& grid : grids_) progress_.push_back({.blocks_to_launch = grid.blocks()});
    for (std::atomic<std::int64_t>& cluster : running_) cluster = 0;
    if (global_races) global_.emplace(std::move(writable));
  }

  /// nullptr if the launch is not to be searched for races in global memory.
  GlobalAccesses* global() { return global_ ? &*global_ : nullptr; }
  Atomics& atomics() { return atomics_; }
  const std::vector<LaunchedGrid>& grids() const { return grids_; }
  bool begins_early() const { return of(0).first_cluster > 0; }
  int grid_of(std::uint32_t cluster) const {
    int grid = static_cast<int>(grids_.size()) - 1;
    while (cluster < of(grid).first_cluster) --grid;
    return grid;
  }

  /// See Fibres.
  int first_race_of(int grid) const {
    return grid == 0 ? 0 : first_race_of(grid - 1) + of(grid - 1).block_threads * of(grid - 1).cluster;
  }

  /// The host thread is about to run the launch's cluster of that number; clusters are begun in that order.
  void begins(int host_thread, std::int64_t cluster) { running_[static_cast<std::size_t>(host_thread)] = cluster; }
  void ends(int host_thread) { running_[static_cast<std::size_t>(host_thread)] = kNone; }
  /// Whether all clusters before it have run to their end.
  bool earlier_ended(std::int64_t cluster) const {
    return std::all_of(running_.begin(), running_.end(), [cluster](const auto& c) { return c >= cluster; });
  }

  // Of several grids, which are on one host thread. `known`: all clusters below this number had ended, as the block
  // knew then.
  bool has_next(int grid) const { return static_cast<std::size_t>(grid) + 1 < grids_.size(); }
  /// Another block of the grid has launched its dependents, or ended without. Whether it was the last one.
  bool block_launched(int grid, std::uint32_t known) {
    Progress& p = progress_[static_cast<std::size_t>(grid)];
    p.known_at_launch = std::min(p.known_at_launch, known);
    return --p.blocks_to_launch == 0;
  }
  void block_ended(int grid, std::uint32_t known) {
    Progress& p = progress_[static_cast<std::size_t>(grid)];
    p.known_at_end = std::min(p.known_at_end, known);
  }
  void grid_ended(int grid) { progress_[static_cast<std::size_t>(grid)].ended = true; }
  bool has_ended(int grid) const { return progress_[static_cast<std::size_t>(grid)].ended; }
  /// What threads of the grid know, in the same sense, when they begin: all that each block of the grid before had
  /// waited for when it launched its dependents.
  std::uint32_t known_at_begin(int grid) const {
    if (grid == 0) return 0;
    return std::min(progress_[static_cast<std::size_t>(grid) - 1].known_at_launch, of(grid - 1).first_cluster);
  }
  /// Whether who waits for the end of this grid has waited for those before it too: each of its blocks has.
  bool waited_for_all(int grid) const {
    return progress_[static_cast<std::size_t>(grid)].known_at_end >= of(grid).first_cluster;
  }
  /// For ThreadSanitizer: what is released at the end of the grid, and acquired by who waits for that.
  const void* end_of(int grid) const { return &progress_[static_cast<std::size_t>(grid)]; }

 private:
  static constexpr std::int64_t kNone = INT64_MAX;

  struct Progress {
    std::int64_t blocks_to_launch;
    std::uint32_t known_at_launch = UINT32_MAX, known_at_end = UINT32_MAX;  ///< by all of its blocks
    bool ended = false;
  };
  const LaunchedGrid& of(int grid) const { return grids_[static_cast<std::size_t>(grid)]; }

  std::vector<LaunchedGrid> grids_;
  std::optional<GlobalAccesses> global_;
  Atomics atomics_;
  std::vector<Progress> progress_;                  ///< a grid
  std::vector<std::atomic<std::int64_t>> running_;  ///< a host thread
};

}  // namespace flashfit::emu
