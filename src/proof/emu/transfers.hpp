#pragma once
// What engines do beside the threads: bulk copies, reductions, stores, between
// their issue and their end.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <vector>

#include "proof/emu/options.hpp"
#include "proof/emu/schedule.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

/// Work that a thread issued. Its destination is poisoned by then.
struct Transfer {
  const char* what;
  int thread;  ///< of the cluster
  Site site;
  std::function<bool()> step;             ///< does the next part; whether that was the last
  std::unique_ptr<char> begun = nullptr;  ///< a key of tsan::release(): what came before its issue
};

/// Pending work. Each step happens when the schedule says so: under kRandom at
/// any switch of threads, any transfer; else when no thread can run, in the
/// order of issue (round robin) or against it (reversed).
class Transfers {
 public:
  Transfers(Schedule schedule, std::uint32_t seed) : schedule_(schedule), random_(seed ^ 0x5bd1e995u) {}

  bool empty() const { return pending_.empty(); }
  void issue(Transfer transfer);
  /// A switch of threads: perhaps a step.
  void at_switch() {
    if (schedule_ == Schedule::kRandom && random_.below(8) == 0) step();
  }
  /// One step of one transfer, beside the running thread; false: there is none.
  bool step();

 private:
  Schedule schedule_;
  Xorshift random_;
  std::vector<Transfer> pending_;
};

}  // namespace flashfit::emu
