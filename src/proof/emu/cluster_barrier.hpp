#pragma once
// barrier.cluster: all threads of all blocks of a cluster arrive, and each waits later (PTX ISA, "barrier.cluster").
#include <cstdint>
#include <vector>

#include "proof/emu/order.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

class Machine;

class ClusterBarrier {
 public:
  explicit ClusterBarrier(int threads) : threads_(static_cast<std::size_t>(threads)) {}

  void arrive(Machine& machine, int live, Site site);
  void wait(Machine& machine, Site site);
  /// A thread left, so the `live` others may be complete.
  void complete_if_due(Machine& machine, int live);

 private:
  struct Thread {
    bool arrived = false, waiting = false;
    std::uint32_t generation = 0;  ///< that it arrived in
    Site site{};
  };

  std::vector<Thread> threads_;
  std::uint32_t generation_ = 0;
  int arrived_ = 0;
  Knowledge published_, completed_;
};

}  // namespace flashfit::emu
