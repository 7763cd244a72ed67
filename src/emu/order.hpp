#pragma once
// What happened before what in a cluster: a clock for each thread, published
// and learnt where threads synchronise.
//
// An agent is a thread, or an engine that works beside the threads: an
// mbarrier's copies, a warpgroup's wgmma, a thread's bulk copies. A moment is
// an agent's epoch. A thread knows a moment once a chain of synchronisation
// leads from it to the thread; then, and only then, it may rely on what was
// done at that moment.
//
// Generic and asynchronous proxy are told apart: what a thread wrote reaches an
// engine only by a chain that also passes a fence.proxy.async, anywhere between
// the write and the engine's use (PTX ISA, "Memory Consistency Model",
// causality order). What an engine did needs no fence: its completion is one.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace flashfit::emu {

struct Moment {
  int agent = -1;
  std::uint32_t epoch = 0;
};

/// The latest epoch known of each agent; 0 for agents not heard of.
class Clock {
 public:
  std::uint32_t at(int agent) const {
    return static_cast<std::size_t>(agent) < epochs_.size() ? epochs_[static_cast<std::size_t>(agent)] : 0;
  }
  bool reached(Moment m) const { return at(m.agent) >= m.epoch; }
  void reach(Moment m);
  void join(const Clock& other);
  bool reached(const Clock& other) const;
  void clear() { epochs_.clear(); }
  const std::vector<std::uint32_t>& epochs() const { return epochs_; }

 private:
  std::vector<std::uint32_t> epochs_;
};

/// What is known, and which part of it is ordered before engines too.
struct Knowledge {
  Clock seen, fenced;

  void join(const Knowledge& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
  }
  void reach(Moment m) {
    seen.reach(m);
    fenced.reach(m);
  }
  void clear() {
    seen.clear();
    fenced.clear();
  }
};

class Order {
 public:
  /// Agents 0 .. threads - 1 are the threads, none of which knows of another.
  explicit Order(int threads);

  int new_agent() { return agents_++; }
  /// When what the thread does now happens.
  Moment now(int thread) const { return {thread, now_[static_cast<std::size_t>(thread)]}; }
  const Knowledge& of(int thread) const { return knowledge_[static_cast<std::size_t>(thread)]; }

  /// What the thread knows goes to `to`, from where others learn it.
  void publish(int thread, Knowledge& to);
  void learn(int thread, const Knowledge& from) { knowledge_[static_cast<std::size_t>(thread)].join(from); }
  /// The thread waited for an engine.
  void learn(int thread, Moment done) { knowledge_[static_cast<std::size_t>(thread)].reach(done); }
  void fence_proxy_async(int thread);
  /// What the thread does from here on is at a later moment.
  void tick(int thread);

 private:
  std::vector<Knowledge> knowledge_;
  std::vector<std::uint32_t> now_;  ///< each thread's own epoch, once more: asked for with every access
  int agents_;
};

}  // namespace flashfit::emu
