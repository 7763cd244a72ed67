#pragma once
// A thread block as its warps see it, on the emulator's machine (proof/emu/machine.hpp), which has one fibre for each
// warp: it owns shared memory, clocks, copies, mbarriers and clusters, and says what is wrong. What is here is what PTX
// has and the emulator's contract has not: addresses of state spaces, barriers of whole warps, products on a warp's
// registers. A warp is one agent: what its lanes do to one another within an instruction is not looked at.
#include <array>
#include <cstdint>
#include <deque>
#include <functional>
#include <string>
#include <vector>

#include "proof/emu/engines.hpp"
#include "proof/emu/machine.hpp"
#include "proof/ptx/launch_state.hpp"
#include "proof/ptx/warp.hpp"

namespace flashfit::ptx {

class Block {
 public:
  Block(LaunchState& launch, emu::Machine& machine);

  /// Runs warp `number` of the block, from the entry's first instruction to its last, on the warp's fibre.
  void run_warp(int number);

  // For instructions.
  const Program& program() const { return launch_.program; }
  emu::Machine& machine() const { return machine_; }
  LaunchState& launch() const { return launch_; }
  void count(std::uint64_t emu::Stats::* counter, std::uint64_t times = 1) { machine_.count(counter, times); }
  std::uint64_t special(Special which, int axis, int warp, int lane) const;
  /// The lane that elect.sync chooses of these.
  int elected(std::uint32_t lanes) const;
  const emu::Site& place_of(const Instruction& i) const { return program().sites[i.site]; }
  const char* name_of(const Instruction& i) const { return program().accesses[i.access].what.c_str(); }
  /// Ends the launch with this finding, of a lane of the running warp.
  [[noreturn]] void stop(int lane, const Instruction& at, const std::string& what) const;

  /// The space that an address of `space` is of; it becomes one of that space itself.
  static Space space_of(Space space, std::uint64_t& address);
  /// Host address of so many bytes at an address of a space, which the lane may access so.
  std::byte* resolve(Warp& warp, int lane, const Instruction& i, Space space, std::uint64_t address, std::size_t bytes,
                     emu::Access access);
  /// Does `step` on such bytes so that others see it as one step, which in global and shared memory orders as `order`
  /// says.
  void as_one_step(Warp& warp, int lane, const Instruction& i, Space space, std::uint64_t address, std::size_t bytes,
                   emu::GlobalAccess kind, arch::MemoryOrder order,
                   const std::function<emu::Atomics::Did(std::byte*)>& step);
  /// Host address of so many bytes of the block's own shared memory, or of another block's of the cluster, which
  /// must be there. `what`: the instruction, in words.
  std::uintptr_t shared_place(int lane, const Instruction& i, std::uint64_t address, std::size_t bytes,
                              const char* what) const;
  /// Host address of what a generic address outside shared and local memory names; nothing is checked.
  std::uintptr_t global_place(std::uint64_t address) const;
  /// Rows of 16 bytes of shared memory that a matrix instruction reads, one each of the first `count` lanes, none of
  /// them poison.
  void matrix_rows(const Instruction& i, const std::uint32_t* addresses, std::uint32_t offset, int count,
                   const std::byte** rows);
  /// The running warp arrives at barrier `id`, for `threads` (0: all that are live). `waits`: until they are there.
  /// `says`: how many of its lanes say so. Returns how many of all that met did.
  int arrive(const Warp& warp, const Instruction& i, std::uint32_t id, std::uint32_t threads, bool waits, int says);

 private:
  struct Barrier {
    std::uint32_t id = 0, threads = 0, arrived = 0;  ///< threads, as hardware counts: 32 a warp
    std::uint32_t warps = 0, waiting = 0;            ///< a bit each
    int said = 0;                                    ///< by how many lanes
    emu::Site site;
    emu::Knowledge knowledge;
  };

  void complete(Barrier& barrier);
  void warp_left();
  int thread_of(int warp) const { return (machine_.block_in_cluster() * warp_count_ + warp) * Warp::kLanes; }

  LaunchState& launch_;
  emu::Machine& machine_;
  const int warp_count_;
  std::deque<Warp> warps_;
  std::array<Barrier, 16> barriers_;
  std::array<int, 32> answers_{};  ///< of the barrier that each warp has waited at
  int live_warps_ = 0;
  std::uint64_t steps_ = 0;
};

}  // namespace flashfit::ptx
