#pragma once
// The sixteen barriers of a block: sync_block is number 0.
#include <array>
#include <cstdint>
#include <string>
#include <vector>

#include "proof/emu/order.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

class Machine;

class NamedBarriers {
 public:
  static constexpr int kCount = 16, kAll = -1;

  /// Of the block whose first warp is the cluster's warp `first_warp`.
  NamedBarriers(int first_warp, int warps);

  /// The running thread arrives. `waits`: it goes on when `threads` have
  /// arrived (kAll: the `live` ones that have not left), else at once.
  /// Returns, after a wait, whether one of those who met said so.
  bool arrive(Machine& machine, int id, int threads, int live, bool waits, Site site, bool says = false);
  /// A thread left, so those who wait for all others may be complete.
  void release_if_complete(Machine& machine, int live);

 private:
  struct Warp {
    std::uint32_t arrived = 0, waiting = 0;  ///< lanes, of this generation
    Site site;
  };
  struct Barrier {
    int id = 0, threads = 0, arrived = 0;
    bool said = false, answer = false;  ///< of this generation; of the one before, until all of it have read it
    Site site;                          ///< of the generation's first arrival
    Knowledge knowledge;
    std::vector<Warp> warps;
  };

  static std::string describe(const void* barrier);
  void release(Machine& machine, Barrier& barrier) const;

  int first_warp_;
  std::array<Barrier, kCount> barriers_;
};

}  // namespace flashfit::emu
