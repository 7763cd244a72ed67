#pragma once
// The mbarriers of a cluster (PTX ISA, "Parallel Synchronization and Communication Instructions: mbarrier").
#include <cstdint>
#include <map>
#include <string>
#include <vector>

#include "proof/emu/order.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

class Machine;

/// A phase is complete when all its arrivals have come and the bytes that were expected in it have been counted off.
/// State is kept here, by address; the object's own bytes hold a pattern that tells whether somebody wrote over them.
class MBarriers {
 public:
  static constexpr std::size_t kBytes = 8;
  static constexpr int kMostArrivals = (1 << 20) - 1, kMostBytes = (1 << 20) - 1;

  /// What an engine must know to complete bytes on a barrier: when, and in which phase.
  struct Signal {
    std::uintptr_t address;
    std::uint32_t phase;
    Moment done;
  };

  void init(Machine& machine, std::uintptr_t address, int arrivals, Site site);
  void inval(Machine& machine, std::uintptr_t address, Site site);
  /// The running thread's earlier init is visible to engines and to the cluster.
  void fence_init(Machine& machine);
  /// In the thread's own block or, by its address there, in another of the cluster.
  void arrive(Machine& machine, std::uintptr_t address, int count, Site site);
  /// Copies of the running thread will arrive once they have landed; `counted`: as one of the arrivals that the barrier
  /// was made for, else as one more of this phase. And they do, for `thread` who said so at `site`; `done` is when.
  void expect_copies(Machine& machine, std::uintptr_t address, bool counted, const char* what, Site site);
  void arrive_for_copies(Machine& machine, std::uintptr_t address, Moment done, int thread, Site site);
  void expect_bytes(Machine& machine, std::uintptr_t address, int bytes, Site site);
  /// Whether the phase of this parity is complete; then what was published in it is learnt. `cluster`: also by threads
  /// of other blocks.
  bool test(Machine& machine, std::uintptr_t address, int parity, Site site);
  void wait(Machine& machine, std::uintptr_t address, int parity, bool cluster, Site site);

  /// The phase that the barrier is in, by number; the running thread may use it.
  std::uint32_t phase(Machine& machine, std::uintptr_t address, Site site);

  /// An engine that the running thread starts will complete bytes on this barrier.
  Signal signal(Machine& machine, std::uintptr_t address, Site site);
  /// It does, for `thread` who started it at `site`.
  void complete_bytes(Machine& machine, const Signal& signal, int bytes, int thread, Site site);

  /// A live barrier that shares bytes with the range, in words, or "".
  std::string overlapping(const Machine& machine, std::uintptr_t address, std::size_t bytes) const;
  /// A live barrier of the range whose object somebody has written over, in words, or "".
  std::string damaged(const Machine& machine, std::uintptr_t address, std::size_t bytes) const;

 private:
  struct Waiter {
    int thread;
    std::uint32_t phase;
  };
  struct Barrier {
    bool live = false;
    int expected = 0, pending = 0, copying = 0;  ///< copying: pending arrivals that copies will make
    std::int64_t bytes = 0;   ///< expected and not yet completed; negative: completed before they were expected
    std::uint32_t phase = 0;  ///< counts on when the object is made anew
    std::uint32_t first_phase = 0;
    int agent = -1;
    Moment made, fenced{0, ~std::uint32_t{0}};
    Site made_at{};
    Knowledge published, completed;  ///< by the block's own threads and by engines
    Knowledge published_abroad, completed_abroad;
    Clock used;  ///< when threads last did something with it
    std::vector<Waiter> waiters;
  };
  using Entry = std::pair<const std::uintptr_t, Barrier>;

  Barrier& use(Machine& machine, std::uintptr_t address, const char* what, Site site);
  void check_parity(Machine& machine, std::uintptr_t address, int parity, Site site);
  void complete_if_due(Machine& machine, Entry& entry, int thread, const Site& site);
  static std::string in_words(const Machine& machine, const Entry& entry);
  static bool intact(const Entry& entry);

  static constexpr int kPatience = 1024;

  std::map<std::uintptr_t, Barrier> barriers_;
  int unanswered_ = 0;  ///< tests that failed since a phase was last completed
};

}  // namespace flashfit::emu
