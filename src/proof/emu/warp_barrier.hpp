#pragma once
// sync_warp: lanes of a warp, named by a mask, wait for one another (PTX ISA, "bar.warp.sync").
#include <cstdint>
#include <string>
#include <vector>

#include "proof/emu/order.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

class Machine;

/// Of one warp. Disjoint sets of lanes may wait apart.
class WarpBarrier {
 public:
  void sync(Machine& machine, std::uint32_t mask, std::uint32_t left, Site site);
  /// A set that waits for the lane, in words, or "".
  std::string waiting_for(int lane) const;

 private:
  struct Set {
    std::uint32_t mask, arrived;
    Knowledge knowledge;
  };
  std::vector<Set> sets_;
};

}  // namespace flashfit::emu
