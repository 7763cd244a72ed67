#pragma once
// A stack and a suspended computation for every thread of a block (Boost.Context),
// switched between without a way back through a dispatcher.
#include <boost/context/fiber.hpp>
#include <cstddef>
#include <memory>
#include <vector>

namespace flashfit::emu {

/// Stacks, allocated once and used by block after block.
class StackPool {
 public:
  static constexpr std::size_t kStackBytes = 64 * 1024;

  explicit StackPool(int stacks);
  std::byte* stack(int i) const { return memory_.get() + static_cast<std::size_t>(i) * kStride; }
  /// Whether a computation has used its stack to the very end, and so perhaps its neighbour's.
  bool overflowed(int i) const;

 private:
  // At a power of two apart, equal frames of all threads would share few cache sets (facts: a quarter of the speed).
  static constexpr std::size_t kStride = kStackBytes + 17 * 64;

  std::unique_ptr<std::byte[]> memory_;
};

class Fibres {
 public:
  /// What fibre i does; returns the fibre that runs after it (or kHost).
  using Body = int (*)(void* context, int i);
  static constexpr int kHost = -1;

  /// ThreadSanitizer knows fibre i by number first_race + i: two computations that are both suspended share none.
  explicit Fibres(int most, int first_race = 0) : first_race_(first_race), pool_(most) {}
  ~Fibres() { clear(); }
  Fibres(const Fibres&) = delete;
  Fibres& operator=(const Fibres&) = delete;

  /// Makes fibres 0, step, 2 step ... below `count`; none runs yet. What is left of earlier ones is unwound.
  void prepare(int count, int step, Body body, void* context);
  /// Suspends the running fibre (or the host) and runs fibre i (or the host). Returns when somebody switches back.
  void switch_to(int i);
  /// Unwinds all fibres that have not ended. Host only.
  void clear();
  bool overflowed(int i) const { return pool_.overflowed(i); }

 private:
  void enter(int i) const;
  boost::context::fiber& slot(int i) { return slots_[static_cast<std::size_t>(i) + 1]; }

  int first_race_;
  StackPool pool_;
  std::vector<boost::context::fiber> slots_ =
      std::vector<boost::context::fiber>(1);  ///< the host's, then fibre 0, 1, ...
  int running_ = kHost, previous_ = kHost;
  char start_ = 0, end_ = 0;  ///< keys of tsan::release(): one for both would order what ends before what starts
};

}  // namespace flashfit::emu
