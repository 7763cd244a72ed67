#pragma once
// The emulated multiprocessor: one block at a time, a fibre for each of its threads.
// flashfit_arch.hpp calls it for the thread that runs.
#include <memory>
#include <string>
#include <vector>

#include "base/error.hpp"
#include "emu/collective.hpp"
#include "emu/copies.hpp"
#include "emu/index3.hpp"
#include "emu/memory.hpp"
#include "emu/options.hpp"
#include "emu/schedule.hpp"
#include "emu/shared_memory.hpp"
#include "emu/site.hpp"

namespace flashfit::emu {

class Fibres;

/// What is launched: `run` is called on every thread's fibre.
struct Program {
  void (*run)(const void* params);
  const void* params;
  int threads;
  std::size_t shared_bytes;
};

class Machine {
 public:
  static constexpr int kMaxThreads = 1024;

  /// The machine whose kernel this host thread is running.
  static Machine& current() { return *running; }

  Machine(const Program& program, const Memory& memory, const Options& options);
  ~Machine();

  /// All blocks, one after another. A finding ends the launch.
  Result<Stats> run(Index3 grid);

  // For the running thread of a kernel.
  Index3 block() const { return block_; }
  Index3 grid() const { return grid_; }
  ThreadIndex now() const { return now_; }
  std::byte* shared() const { return shared_.data(); }
  /// Meets the warp's other lanes in `op`; on return it has been executed.
  void meet(const Collective& op, void* operands, Site site);
  void sync_block(Site site);
  void copy(std::uintptr_t s_to, std::uintptr_t g_from, bool inside, Site site);
  void commit_copies() { copies_[thread()].commit(); }
  void wait_copies(int pending) { copies_[thread()].wait(static_cast<std::size_t>(pending)); }
  /// Ends the launch unless the bytes are aligned to `alignment`,
  /// inside one tensor or the block's shared memory, and may be accessed so.
  void check_global(std::uintptr_t address, std::size_t bytes, std::size_t alignment, Access access, Site site);
  void check_shared(std::uintptr_t address, std::size_t bytes, Site site);
  void count(std::uint64_t Stats::* counter) { ++(stats_.*counter); }

 private:
  /// A mask of lanes a field, but for the collective that some of them wait in.
  struct Warp {
    std::uint32_t arrived = 0, in_barrier = 0, left = 0;
    const Collective* op = nullptr;
    Site site, barrier_site;
    void* operands[kLanes];
  };

  int thread() const { return now_.warp * kLanes + now_.lane; }
  Warp& warp() { return warps_[static_cast<std::size_t>(now_.warp)]; }
  std::uint32_t& ready() { return ready_[static_cast<std::size_t>(now_.warp)]; }
  std::uint32_t lane_bit() const { return std::uint32_t{1} << now_.lane; }

  void run_block();
  int thread_ended();
  void release_barrier_if_all_wait();
  void yield();
  ThreadIndex next_thread();
  std::string waits() const;
  [[noreturn]] void stop(const std::string& what, const Site* site = nullptr);
  std::string where() const;

  static thread_local constinit Machine* running;

  const Program program_;
  const Memory& memory_;
  const Options options_;
  Stats stats_;
  Scheduler scheduler_;
  SharedMemory shared_;
  std::unique_ptr<Fibres> fibres_;
  std::vector<Warp> warps_;
  std::vector<std::uint32_t> ready_;
  std::vector<CopyQueue> copies_;
  Index3 block_{}, grid_{};
  ThreadIndex now_{};
  int live_ = 0, waiting_ = 0;
  std::string finding_;
};

}  // namespace flashfit::emu
