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
//
// Clusters tell one another through atomics on global memory. A clock holds its
// own cluster's epochs, and what is known of others.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace flashfit::emu {

struct Moment {
  int agent = -1;
  std::uint32_t epoch = 0;
};

using Epochs = std::vector<std::uint32_t>;

/// What is known of other clusters of the launch, by their number. Copies share what they hold, and joining what is
/// held already costs nothing: all threads of a block learn the same from its barriers.
class Abroad {
 public:
  bool reached(std::uint32_t cluster, Moment m) const;
  void join(const Abroad& other) {
    add_all_before(other.whole_);
    if (other.entries_ != nullptr && other.entries_ != entries_) entries_ = joined(entries_, other.entries_);
  }
  /// The cluster's agents have reached these epochs.
  void add(std::uint32_t cluster, const Epochs& epochs);
  /// All that clusters below `cluster` ever did.
  void add_all_before(std::uint32_t cluster) { whole_ = whole_ < cluster ? cluster : whole_; }
  bool knows_all_of(std::uint32_t cluster) const { return cluster < whole_; }
  /// All that clusters below this number ever did is known.
  std::uint32_t all_before() const { return whole_; }
  /// What is known of one cluster, or nullptr.
  const Epochs* of(std::uint32_t cluster) const;

 private:
  struct Entry {
    std::uint32_t cluster;
    std::shared_ptr<const Epochs> epochs;
  };
  using Entries = std::vector<Entry>;  ///< by cluster
  static std::shared_ptr<const Entries> joined(const std::shared_ptr<const Entries>& a,
                                               const std::shared_ptr<const Entries>& b);

  std::shared_ptr<const Entries> entries_;
  std::uint32_t whole_ = 0;
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
  void clear() {
    epochs_.clear();
    abroad_ = {};
  }
  const Epochs& epochs() const { return epochs_; }
  const Abroad& abroad() const { return abroad_; }
  void add_all_before(std::uint32_t cluster) { abroad_.add_all_before(cluster); }

  /// What cluster `cluster`, whose clock this is, tells others.
  void tell(std::uint32_t cluster, Abroad& to) const {
    to.join(abroad_);
    to.add(cluster, epochs_);
  }
  void hear(std::uint32_t cluster, const Abroad& from);

 private:
  Epochs epochs_;
  Abroad abroad_;
};

/// What was released at a place in memory.
struct Released {
  Abroad seen, fenced, fenced_global;

  void join(const Released& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    fenced_global.join(other.fenced_global);
  }
};

/// Copies share what they hold; nullptr: nothing.
void join_shared(std::shared_ptr<const Released>& to, const std::shared_ptr<const Released>& from);

/// What is known, and which part of it is ordered before engines too: in shared memory, in global memory.
struct Knowledge {
  Clock seen, fenced, fenced_global;
  /// What was known at a fence.sc that came before; nullptr: there was none. A thread that knows of the fence and then
  /// writes passes this on to a thread that knows of a read of what it wrote and then executes a fence.sc: one of the
  /// two fences is first in the order of all fences (PTX ISA, "Fence-SC"), and the later one cannot be.
  std::shared_ptr<const Released> at_fence;
  /// What reads that came before would tell so at a fence.sc.
  std::shared_ptr<const Released> read;

  void join(const Knowledge& other) {
    seen.join(other.seen);
    fenced.join(other.fenced);
    fenced_global.join(other.fenced_global);
    join_shared(at_fence, other.at_fence);
    join_shared(read, other.read);
  }
  void reach(Moment m) {
    seen.reach(m);
    fenced.reach(m);
  }
  void clear() {
    seen.clear();
    fenced.clear();
    fenced_global.clear();
    at_fence.reset();
    read.reset();
  }
};

class Order {
 public:
  /// Agents 0 .. threads - 1 are the threads of the launch's cluster `cluster`, none of which knows of another.
  explicit Order(int threads, std::uint32_t cluster = 0);

  int new_agent() { return agents_++; }
  /// When what the thread does now happens.
  Moment now(int thread) const { return {thread, now_[static_cast<std::size_t>(thread)]}; }
  const Knowledge& of(int thread) const { return knowledge_[static_cast<std::size_t>(thread)]; }

  /// What the thread knows goes to `to`, from where others learn it.
  void publish(int thread, Knowledge& to);
  void learn(int thread, const Knowledge& from) { knowledge_[static_cast<std::size_t>(thread)].join(from); }
  /// The thread waited for an engine.
  void learn(int thread, Moment done) { knowledge_[static_cast<std::size_t>(thread)].reach(done); }
  /// The same, for what an engine did as threads do it: its end is no fence.
  void learn_unfenced(int thread, Moment done) { knowledge_[static_cast<std::size_t>(thread)].seen.reach(done); }
  void release(int thread, Released& to);
  void acquire(int thread, const Released& from);
  /// A fence releases by the thread's later writes that release nothing themselves, and acquires by its earlier reads
  /// that acquired nothing (PTX ISA, "release pattern", "acquire pattern"). `sequential`: fence.sc.
  void fence(int thread, bool sequential);
  void release_by_fence(int thread, Released& to) const;
  void acquire_by_fence(int thread, const Released& from);
  /// Whether there is something that release_by_fence() would tell.
  bool has_fenced(int thread) const {
    return static_cast<std::size_t>(thread) < fences_.size() && fence_of(thread).any;
  }
  /// What fences.sc before the thread's write tell, or nullptr; what a fence.sc after its read will learn of such.
  const std::shared_ptr<const Released>& known_at_fence(int thread) const { return of(thread).at_fence; }
  void acquire_by_sequential_fence(int thread, const std::shared_ptr<const Released>& from) {
    join_shared(knowledge_[static_cast<std::size_t>(thread)].read, from);
  }
  /// The thread waited for all clusters below this number.
  void learn_all_before(int thread, std::uint32_t cluster);
  void fence_proxy_async(int thread);
  void fence_proxy_async_global(int thread);
  /// What the thread does from here on is at a later moment.
  void tick(int thread);

 private:
  /// What a thread knew at its last fence, and what it will learn at the next one.
  struct Fence {
    bool any = false;
    Released known, read;
  };
  const Fence& fence_of(int thread) const { return fences_[static_cast<std::size_t>(thread)]; }
  Fence& make_fence(int thread);

  std::uint32_t cluster_;
  std::vector<Knowledge> knowledge_;
  std::vector<Fence> fences_;       ///< as many as there are threads, once one needs its own
  std::vector<std::uint32_t> now_;  ///< each thread's own epoch, once more: asked for with every access
  int agents_;
};

}  // namespace flashfit::emu
