#pragma once
// Bank conflicts. Shared memory has 32 banks of 4 bytes; in one wavefront each gives or takes one word, which any
// number of lanes may share (CUDA C++ Programming Guide, "Shared Memory"). Accesses of 8 bytes a lane are served for
// half a warp at a time, those of 16 for a quarter; ldmatrix takes one 8x8 matrix at a time, which is a quarter too.
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "proof/emu/options.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

/// Wavefronts beyond the ideal that one instruction of a warp needs whose lanes access `bytes` (1 .. 16) each, at these
/// offsets into shared memory, lane 0 first. Lanes that do not take part are left out, or negative.
int bank_conflicts(std::span<const std::int32_t> offsets, int bytes);

/// An instruction of a lane on its own, and where its conflicts are counted.
struct LaneAccess {
  const char* instruction;
  Site site;
  int bytes;
  std::uint64_t Stats::* counter;
};

/// The conflicts of a launch, by instruction and line.
class BankConflicts {
 public:
  explicit BankConflicts(int warps)
      : warps_(static_cast<std::size_t>(warps)), pending_(static_cast<std::size_t>(warps)) {}

  /// An instruction that all lanes execute together. Returns its conflicts.
  int add(const char* instruction, Site site, std::span<const std::int32_t> offsets, int bytes);
  /// A lane's share of an instruction that each executes on its own: its n-th at that site belongs with the n-th of the
  /// warp's other lanes.
  void add_lane(int warp, int lane, const LaneAccess& access, std::int32_t offset);
  /// The warp's lanes are together: the conflicts of what they have done since the last time are added to `stats`.
  void converge(int warp, Stats& stats) {
    if (pending_[static_cast<std::size_t>(warp)] != 0) count_pending(warp, stats);
  }
  /// The line with most, in words, or "".
  std::string worst() const;

 private:
  struct Line {
    const char* instruction;
    Site site;
    std::uint64_t conflicts;
  };
  struct Shares {
    LaneAccess access;
    int done[32] = {};                  ///< instructions of each lane
    std::vector<std::int32_t> offsets;  ///< 32 an instruction; -1: that lane does not take part
  };

  void count_pending(int warp, Stats& stats);

  std::vector<Line> lines_;
  std::vector<std::vector<Shares>> warps_;
  std::vector<char> pending_;  ///< whether lanes of the warp have done something since they were together
};

}  // namespace flashfit::emu
