#pragma once
// The emulated multiprocessors: one cluster of blocks at a time, a fibre for
// each of its threads. flashfit_arch.hpp calls it for the thread that runs.
#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "core/base/error.hpp"
#include "proof/emu/accesses.hpp"
#include "proof/emu/atomics.hpp"
#include "proof/emu/banks.hpp"
#include "proof/emu/collective.hpp"
#include "proof/emu/copies.hpp"
#include "proof/emu/index3.hpp"
#include "proof/emu/launch_state.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/named_barriers.hpp"
#include "proof/emu/options.hpp"
#include "proof/emu/order.hpp"
#include "proof/emu/patience.hpp"
#include "proof/emu/schedule.hpp"
#include "proof/emu/shared_memory.hpp"
#include "proof/emu/site.hpp"
#include "proof/emu/thread_sanitizer.hpp"
#include "proof/emu/transfers.hpp"
#include "proof/emu/warpgroups.hpp"

namespace flashfit::emu {

struct Engines;
class Fibres;

/// What is launched: `run` is called on every thread's fibre. Blocks 0 ..
/// cluster - 1 along x are one cluster, and so on.
/// `by_warp`: on that of each warp's lane 0 alone, which does what all lanes do and is one agent with them; no
/// collective is met then, and Machine::speaks_for() says whose part it does.
struct Program {
  void (*run)(const void* params);
  const void* params;
  std::size_t params_bytes;
  int threads;  ///< of a block
  std::size_t shared_bytes;
  int cluster = 1, min_blocks = 1;
  bool by_warp = false;
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

  /// Of the launch's grid of that number.
  Machine(const Program& program, const Memory& memory, const Options& options, LaunchState& launch, int grid = 0);
  ~Machine();

  /// Runs the grid's cluster `number` to its end, or until it is paused. Returns the finding that ended it, or "".
  std::string run_cluster(std::uint32_t number);
  /// Why a cluster is to be resumed, if one is: the next grid may begin; all of it waits for the end of the grid
  /// before.
  enum class Paused : unsigned char { kNo, kLaunches, kWaits };
  Paused paused() const { return paused_; }
  std::string resume();
  const Stats& stats() const { return stats_; }

  // The running thread: its place.
  Index3 block() const { return blocks_[block_].index; }
  Index3 grid() const { return launched().grid; }
  int block_in_cluster() const { return static_cast<int>(block_); }
  int cluster_blocks() const { return program_.cluster; }
  int warp() const { return now_.warp - static_cast<int>(block_) * block_warps_; }
  int lane() const { return now_.lane; }
  /// Its number in the cluster: lanes, then warps, then blocks.
  int thread() const { return now_.warp * kLanes + now_.lane; }
  int block_of(int thread) const { return thread / program_.threads; }
  /// The thread in whose name the running one acts: itself, or the lane that a warp run as one speaks for.
  int speaker() const { return thread() + spoken_lane_; }
  void speaks_for(int lane) { spoken_lane_ = lane; }
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
  void launch_dependents();
  void grid_dependency_wait(Site site);
  /// Whether the running lane is the warp's elected one: the same whenever a cluster is run.
  bool elect(Site site);
  /// Lets others run until somebody wakes it.
  void suspend(Wait wait);
  void wake(int thread);
  /// Wakes lanes of the cluster's warp `warp`, who thereby learn what others
  /// published.
  void wake(int warp, std::uint32_t lanes, const Knowledge& known);
  /// Lets others run, if the schedule likes; any other, whatever the schedule.
  void yield();
  void yield_to_any();
  /// Ends the launch with this finding, of the running thread or of one that
  /// issued something.
  [[noreturn]] void stop(const std::string& what, const Site* site = nullptr) { stop_at(speaker(), what, site); }
  [[noreturn]] void stop_at(int thread, const std::string& what, const Site* site);

  // Its memory.
  /// Copies `bytes` (4, 8 or 16): `read` of them, and zeros for the rest.
  void copy(std::uintptr_t s_to, std::uintptr_t g_from, std::size_t bytes, std::size_t read, Site site);
  void commit_copies();
  /// An arrival at the mbarrier when the running thread's copies so far have landed; `counted`: one of those that it
  /// was made for.
  void arrive_with_copies(std::uintptr_t barrier, bool counted, const char* what, Site site);
  void wait_copies(int pending);
  /// Ends the launch unless the bytes are aligned to `alignment`,
  /// inside one tensor or the block's shared memory, and may be accessed so.
  void check_global(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site);
  void check_shared(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Site site);
  /// Whether the bytes are those of the kernel's argument, or of one tensor: where an engine can read what describes
  /// its copy.
  bool in_params_or_global(std::uintptr_t address, std::size_t bytes) const;
  void check_shared(std::uintptr_t address, std::size_t bytes, Site site) { check_shared(address, bytes, bytes, site); }
  /// Shared memory that nobody has written or that a copy is still to fill, at offset `offset`: ends the launch.
  /// Ends the launch if a word of shared memory that is to be read is one that nobody has written. Less than a word
  /// could be somebody's number.
  void check_written(std::uintptr_t address, std::size_t bytes, const char* what, Site site);
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

  /// The running thread's own load or store of global memory by an instruction called `what`: checked, an access that
  /// is watched. A thread that loads the same places for ever lets others run, and ends the launch if that is no help.
  void own_global_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site);
  /// The same by a load that counts on nobody ever writing there.
  void read_only_access(std::uintptr_t address, std::size_t bytes, const char* what, Site site);
  /// An access of the running thread to global memory that others see as one step.
  struct AtomicAccess {
    std::uintptr_t address;
    std::size_t bytes;
    GlobalAccess kind;
    arch::MemoryOrder order;
    const char* what;
    Site site;
  };
  void atomic_step(const AtomicAccess& access, const std::function<Atomics::Did()>& step);
  /// The same in the shared memory of a block of the cluster, at a place that has been checked.
  void shared_atomic_step(const AtomicAccess& access, const std::function<Atomics::Did()>& step);
  /// An operation of the contract, called `what`. What was there before, as bits.
  std::uint64_t atomic(const AtomicOp& op, std::uintptr_t address, const char* what, Site site);
  /// An access to global memory that has been checked: ends the launch if it races with an earlier one. The thread's
  /// own, or by an engine that is done with it at `done`.
  void global_access(std::uintptr_t address, std::size_t bytes, GlobalAccess kind, const char* what, Site site);
  void engine_global_access(const Memory::Range& range, GlobalAccess kind, const char* what, Moment done, Site site);
  /// The range, if accesses to it can race, or nothing.
  std::vector<Memory::Range> watched(std::uintptr_t address, std::size_t bytes) const {
    if (!watches_global(address)) return {};
    return {{address, bytes}};
  }

  // What happened before what. Under ThreadSanitizer only from where a kernel uses something asynchronous on, which
  // calls `watch`.
  void watch();
  Order* order() { return order_.get(); }
  /// An access of the running thread to its block's shared memory, by an
  /// instruction called `what`: ends the launch if it races with an earlier
  /// one.
  void access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site);
  /// The running thread's share of instructions that read 16 bytes of shared memory a lane: checks and accesses each.
  void read_rows(std::span<const std::uintptr_t> rows, const char* what, Site site);
  /// The same by an engine, which is done with the bytes at `done`: a thread that has learnt of that moment may touch
  /// them again.
  void engine_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Moment done,
                     Site site);
  void publish(Knowledge& to) {
    if (order_ == nullptr) return;
    const tsan::Unseen unseen;
    order_->publish(thread(), to);
  }
  void learn(const Knowledge& from) {
    if (order_ == nullptr) return;
    const tsan::Unseen unseen;
    order_->learn(thread(), from);
  }
  Transfers& transfers() { return transfers_; }
  Engines& engines();
  /// The same place in the shared memory of block `block` of the cluster, which must be there for this thread: started
  /// for sure, and not ended.
  std::uintptr_t in_block(std::uintptr_t address, int block, const char* what, Site site);
  bool in_own_block(std::uintptr_t address) const { return blocks_[block_].shared.holds(address, 1); }
  bool in_shared_memory(std::uintptr_t address) const {
    return std::ranges::any_of(blocks_, [address](const Block& b) { return b.shared.holds(address, 1); });
  }
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
    bool launched = false;  ///< its dependents
  };

  /// Fibres of a block.
  int fibres_of_block() const { return program_.by_warp ? block_warps_ : program_.threads; }
  Warp& warp_state() { return warps_[static_cast<std::size_t>(now_.warp)]; }
  std::uint32_t& ready() { return ready_[static_cast<std::size_t>(now_.warp)]; }
  std::uint32_t lane_bit() const { return std::uint32_t{1} << now_.lane; }
  void place(ThreadIndex at);
  ThreadIndex next_thread();
  void run_next(ThreadIndex next);
  void start_block(int number, Index3 index);
  std::string run_until_host(int thread);
  void pause(Paused why);
  int thread_ended();
  void leave(Block& block);
  void end_block(Block& block);
  void end_engines(const Block& block);
  void check_tensor(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site);
  void stop_at_race();
  void watched_access(std::uintptr_t address, std::size_t bytes, Access access, const char* what, Site site);
  AccessRecord record_of(const char* what, const Site& site, Moment done, Proxy proxy);
  void record(std::uintptr_t address, std::size_t bytes, Access access, const AccessRecord& by);
  void record(Block& block, std::uintptr_t address, std::size_t bytes, Access access, const AccessRecord& by);
  [[noreturn]] void stop_at_conflict(const Accesses::Conflict& conflict, std::size_t offset, std::size_t bytes,
                                     Access access, const AccessRecord& by);
  void record_global(const Memory::Range& range, GlobalAccess kind, const GlobalAccesses::Who& by);
  [[noreturn]] void stop_at_global_conflict(const GlobalAccesses::Conflict& conflict, const Memory::Range& range,
                                            GlobalAccess kind, const GlobalAccesses::Who& by);
  bool watches_global(std::uintptr_t address) const {
    return global_ != nullptr && order_ != nullptr && global_->watches(address);
  }
  void ask(std::uintptr_t address, const char* what, Site site);
  void run_step(Atomics& atomics, const AtomicAccess& access, const std::function<Atomics::Did()>& step);
  /// All clusters below this number have ended, as the running thread knows.
  std::uint32_t known_to_have_ended() const { return order_->of(thread()).seen.abroad().all_before(); }
  const LaunchedGrid& launched() const { return launch_.grids()[static_cast<std::size_t>(grid_)]; }
  std::string in_words(const GlobalAccesses::Who& who) const;
  std::string waits() const;
  std::string warp_in_words(int warp) const;
  std::string where(int thread) const;

  static thread_local constinit Machine* running;

  const Program program_;
  const Memory& memory_;
  const Options options_;
  LaunchState& launch_;
  GlobalAccesses* const global_;  ///< nullptr: nobody looks for races there
  Atomics shared_atomics_;        ///< on shared memory of the cluster
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
  Paused paused_ = Paused::kNo;
  std::vector<int> grid_waiters_;  ///< threads that wait for the end of the grid before
  int elected_ = 0, spoken_lane_ = 0;
  Patience patience_;
  const int grid_;             ///< of the launch
  std::uint32_t cluster_ = 0;  ///< of the launch, which counts on over its grids
  ThreadIndex now_{};
  std::size_t block_ = 0;
  int live_ = 0;
  std::string finding_;
};

}  // namespace flashfit::emu
