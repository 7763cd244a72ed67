#pragma once
// The emulated multiprocessors: one cluster of blocks at a time, a fibre for
// each of its threads. flashfit_arch.hpp calls it for the thread that runs.
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "emu/accesses.hpp"
#include "emu/banks.hpp"
#include "emu/collective.hpp"
#include "emu/copies.hpp"
#include "emu/index3.hpp"
#include "emu/memory.hpp"
#include "emu/named_barriers.hpp"
#include "emu/options.hpp"
#include "emu/order.hpp"
#include "emu/schedule.hpp"
#include "emu/shared_memory.hpp"
#include "emu/site.hpp"
#include "emu/transfers.hpp"
#include "emu/warpgroups.hpp"

namespace flashfit::emu {

struct Engines;
class Fibres;

/// What is launched: `run` is called on every thread's fibre. Blocks 0 ..
/// cluster - 1 along x are one cluster, and so on.
struct Program {
  void (*run)(const void* params);
  const void* params;
  int threads;  ///< of a block
  std::size_t shared_bytes;
  int cluster = 1, min_blocks = 1;
};

/// What a suspended thread waits for, in words when asked.
struct Wait {
  std::string (*describe)(const void* on) = nullptr;
  const void* on = nullptr;
  Site site{};
};

class Machine {
 public:
  static constexpr int kMaxThreads = 1024, kMaxCluster = 16;

  /// The machine whose kernel this host thread is running.
  static Machine& current() { return *running; }

  Machine(const Program& program, const Memory& memory, const Options& options);
  ~Machine();

  /// Runs the cluster whose first block is `first`, the grid's cluster
  /// `number`. Returns the finding that ended it, or "".
  std::string run_cluster(Index3 grid, Index3 first, std::uint32_t number);
  const Stats& stats() const { return stats_; }

  // The running thread: its place.
  Index3 block() const { return blocks_[block_].index; }
  Index3 grid() const { return grid_; }
  int block_in_cluster() const { return static_cast<int>(block_); }
  int cluster_blocks() const { return program_.cluster; }
  int warp() const { return now_.warp - static_cast<int>(block_) * block_warps_; }
  int lane() const { return now_.lane; }
  /// Its number in the cluster: lanes, then warps, then blocks.
  int thread() const { return now_.warp * kLanes + now_.lane; }
  int block_of(int thread) const { return thread / program_.threads; }
  std::byte* shared() const { return blocks_[block_].shared.data(); }

  // Its life.
  /// Meets the warp's other lanes in `op`; on return it has been executed.
  void meet(const Collective& op, void* operands, Site site);
  void sync_warp(std::uint32_t mask, Site site);
  /// Returns whether a thread of the block says so.
  bool sync_block(Site site, bool says = false);
  void named_barrier(int id, int threads, bool waits, Site site);
  void cluster_arrive(Site site);
  void cluster_wait(Site site);
  void set_registers(int registers, bool increase, Site site);
  void grid_dependency_wait();
  /// Whether the running lane is the warp's elected one: the same whenever a cluster is run.
  bool elect(Site site);
  /// Lets others run until somebody wakes it.
  void suspend(Wait wait);
  void wake(int thread);
  /// Wakes lanes of the cluster's warp `warp`, who thereby learn what others
  /// published.
  void wake(int warp, std::uint32_t lanes, const Knowledge& known);
  /// Lets others run, if the schedule likes.
  void yield();
  /// Ends the launch with this finding, of the running thread or of one that
  /// issued something.
  [[noreturn]] void stop(const std::string& what, const Site* site = nullptr) { stop_at(thread(), what, site); }
  [[noreturn]] void stop_at(int thread, const std::string& what, const Site* site);

  // Its memory.
  void copy(std::uintptr_t s_to, std::uintptr_t g_from, bool inside, Site site);
  void commit_copies();
  void wait_copies(int pending);
  /// Ends the launch unless the bytes are aligned to `alignment`,
  /// inside one tensor or the block's shared memory, and may be accessed so.
  void check_global(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site);
  void check_shared(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Site site);
  void check_shared(std::uintptr_t address, std::size_t bytes, Site site) { check_shared(address, bytes, bytes, site); }
  /// Shared memory that nobody has written or that a copy is still to fill, at offset `offset`: ends the launch.
  [[noreturn]] void stop_at_poison(const char* what, std::ptrdiff_t offset, std::size_t bytes, Site site);
  /// Not inlined into kernels: where ThreadSanitizer watches those, the machine's own data are not to be watched.
  void count(std::uint64_t Stats::* counter, std::uint64_t times = 1);
  /// A load or store of the running thread in its block's shared memory by an instruction called `what`: checked,
  /// an access that is watched, its share of bank conflicts.
  void own_access(std::uintptr_t address, std::size_t bytes, Access kind, const char* what, Site site);
  /// Bank conflicts of an instruction that the running warp executes together; see BankConflicts::add.
  void count_bank_conflicts(const char* what, std::span<const std::int32_t> offsets, int bytes,
                            std::uint64_t Stats::* counter);
  /// Where the collective is that the running warp executes.
  Site collective_site() const { return warps_[static_cast<std::size_t>(now_.warp)].site; }
  /// How matrix instructions round; nullptr: plain fp32.
  const TensorCore* tensor_core() const { return options_.tensor_core ? &*options_.tensor_core : nullptr; }

  // What happened before what. Costs nothing until a kernel uses something
  // asynchronous: then `watch` turns it on.
  void watch();
  Order* order() { return order_.get(); }
  /// An access of the running thread to its block's shared memory, by an
  /// instruction called `what`: ends the launch if it races with an earlier
  /// one.
  void access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site);
  /// The running thread's share of instructions that read 16 bytes of shared memory a lane: checks and accesses each.
  void read_rows(std::span<const std::uintptr_t> rows, const char* what, Site site);
  /// The same by an engine, which is done with it at `done`: whoever learns
  /// that moment may touch the bytes again.
  void engine_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Moment done,
                     Site site);
  void publish(Knowledge& to) {
    if (order_ != nullptr) order_->publish(thread(), to);
  }
  void learn(const Knowledge& from) {
    if (order_ != nullptr) order_->learn(thread(), from);
  }
  Transfers& transfers() { return transfers_; }
  Engines& engines();
  /// The same place in the shared memory of block `block` of the cluster, which must be there for this thread: started
  /// for sure, and not ended.
  std::uintptr_t in_block(std::uintptr_t address, int block, const char* what, Site site);
  bool in_own_block(std::uintptr_t address) const { return blocks_[block_].shared.holds(address, 1); }
  /// The running thread does something to another block's shared memory, which must last until then.
  void use_abroad(std::uintptr_t address, const char* what, Site site);
  /// "byte 64 of shared memory", with the block if the cluster has several.
  std::string shared_in_words(std::uintptr_t address) const;
  /// Of the running thread's block.
  Warpgroups& warpgroups() { return *blocks_[block_].warpgroups; }

  /// "warp 1 lane 3", with the block if the cluster has several.
  std::string thread_in_words(int thread) const;
  /// "kernel.cuh:17".
  static std::string in_words(const Site& site);
  /// "lane 3", "lanes 0-15,31".
  static std::string lanes_in_words(std::uint32_t mask);

 private:
  /// A mask of lanes a field, but for the collective that some of them wait in.
  struct Warp {
    std::uint32_t arrived = 0, left = 0;
    const Collective* op = nullptr;
    Site site;
    void* operands[kLanes];
  };
  struct Block {
    Block(std::size_t shared_bytes, std::size_t limit) : shared(shared_bytes, limit) {}

    Index3 index{};
    SharedMemory shared;
    std::optional<NamedBarriers> barriers;
    std::optional<Warpgroups> warpgroups;
    std::unique_ptr<Accesses> accesses;
    std::map<int, AccessRecord> uses;  ///< by engines and other blocks: the last one of each agent
    Clock known_at_end;                ///< to the threads that have left
    int live = 0;
  };

  Warp& warp_state() { return warps_[static_cast<std::size_t>(now_.warp)]; }
  std::uint32_t& ready() { return ready_[static_cast<std::size_t>(now_.warp)]; }
  std::uint32_t lane_bit() const { return std::uint32_t{1} << now_.lane; }
  void place(ThreadIndex at);
  ThreadIndex next_thread();
  void start_block(int number, Index3 index);
  int thread_ended();
  void leave(Block& block);
  void end_block(Block& block);
  void end_engines(const Block& block);
  void check_previous_grid(std::uintptr_t address, Access access, Site site);
  void stop_at_race();
  void watched_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site);
  AccessRecord record_of(const char* what, const Site& site, Moment done, Proxy proxy);
  void record(std::uintptr_t address, std::size_t bytes, Access access, const AccessRecord& by);
  void record(Block& block, std::uintptr_t address, std::size_t bytes, Access access, const AccessRecord& by);
  [[noreturn]] void stop_at_conflict(const Accesses::Conflict& conflict, std::size_t offset, std::size_t bytes,
                                     Access access, const AccessRecord& by);
  std::string waits() const;
  std::string warp_in_words(int warp) const;
  std::string where(int thread) const;

  static thread_local constinit Machine* running;

  const Program program_;
  const Memory& memory_;
  const Options options_;
  const int block_warps_;
  Stats stats_;
  Scheduler scheduler_;
  Transfers transfers_;
  std::vector<Block> blocks_;
  std::unique_ptr<Fibres> fibres_;
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> ready_;
  std::vector<Wait> waits_;
  std::vector<CopyQueue> copies_;
  BankConflicts banks_;
  std::unique_ptr<Order> order_;
  Instructions instructions_;
  std::unique_ptr<Engines> engines_;
  bool watching_ = false, missed_ = false;  ///< missed: there were accesses before `watch`
  int previous_grid_ = -1, elected_ = 0;
  Index3 grid_{};
  ThreadIndex now_{};
  std::size_t block_ = 0;
  int live_ = 0;
  std::string finding_;
};

}  // namespace flashfit::emu
