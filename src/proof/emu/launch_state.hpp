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

/// A grid of the launch: one, or two of which the second may begin before the first has ended.
struct LaunchedGrid {
  std::string kernel;
  Index3 grid;
  int block_threads, cluster;   ///< threads of a block, blocks of a cluster
  std::uint32_t first_cluster;  ///< clusters count over the launch's grids

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
      : grids_(std::move(grids)),
        blocks_to_launch_(grids_[0].blocks()),
        running_(static_cast<std::size_t>(host_threads)) {
    for (std::atomic<std::int64_t>& cluster : running_) cluster = 0;
    if (global_races) global_.emplace(std::move(writable));
  }

  /// nullptr if the launch is not to be searched for races in global memory.
  GlobalAccesses* global() { return global_ ? &*global_ : nullptr; }
  Atomics& atomics() { return atomics_; }
  const std::vector<LaunchedGrid>& grids() const { return grids_; }
  int grid_of(std::uint32_t cluster) const { return grids_.size() > 1 && cluster >= grids_[1].first_cluster ? 1 : 0; }

  /// See Fibres.
  int first_race_of(int grid) const { return grid == 0 ? 0 : grids_[0].block_threads * grids_[0].cluster; }

  /// The host thread is about to run the launch's cluster of that number; clusters are begun in that order.
  void begins(int host_thread, std::int64_t cluster) { running_[static_cast<std::size_t>(host_thread)] = cluster; }
  void ends(int host_thread) { running_[static_cast<std::size_t>(host_thread)] = kNone; }
  /// Whether all clusters before it have run to their end.
  bool earlier_ended(std::int64_t cluster) const {
    return std::all_of(running_.begin(), running_.end(), [cluster](const auto& c) { return c >= cluster; });
  }

  // Of two grids.
  /// Another block of the first one has launched its dependents, or ended without. Whether it was the last one.
  bool block_launched() { return --blocks_to_launch_ == 0; }
  void first_grid_ended() { first_ended_ = true; }
  bool first_grid_has_ended() const { return first_ended_; }

 private:
  static constexpr std::int64_t kNone = INT64_MAX;

  std::vector<LaunchedGrid> grids_;
  std::optional<GlobalAccesses> global_;
  Atomics atomics_;
  std::atomic<std::int64_t> blocks_to_launch_;
  bool first_ended_ = false;
  std::vector<std::atomic<std::int64_t>> running_;  ///< a host thread
};

}  // namespace flashfit::emu
