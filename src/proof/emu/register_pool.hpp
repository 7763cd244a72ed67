#pragma once
// setmaxnreg: warps of a block give registers back and take more (PTX ISA, "setmaxnreg").
#include <cstdint>
#include <string>
#include <vector>

#include "proof/emu/site.hpp"

namespace flashfit::emu {

class Machine;

/// A block starts with the registers that its launch bounds leave each thread, times its threads; there are no others.
class RegisterPool {
 public:
  static constexpr int kWarpgroupWarps = 4, kStep = 8, kLeast = 24, kMost = 256;

  /// Registers a thread at launch, for blocks of `threads` of which `blocks` share a multiprocessor.
  static int at_launch(int threads, int blocks);

  RegisterPool(int warps, int registers) : warps_(static_cast<std::size_t>(warps), Warp{registers, {}}) {}

  /// The running warp, all its lanes together, wants so many a thread; waits until there are enough.
  void set(Machine& machine, int registers, bool increase, Site site);
  /// Warps of one warpgroup that did not do the same, in words, or "".
  std::string unequal() const;

 private:
  struct Warp {
    int registers;
    std::vector<int> history;
  };

  std::vector<Warp> warps_;
  int free_ = 0;              ///< of a lane each: multiples of 32 registers
  std::vector<int> waiting_;  ///< threads of the cluster
};

}  // namespace flashfit::emu
