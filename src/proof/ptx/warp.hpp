#pragma once
// A warp: its registers, and which of its lanes are where. Lanes that are at the same instruction run it together; of
// those apart the ones furthest behind run first, so that they meet again where their ways do.
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "proof/ptx/program.hpp"

namespace flashfit::ptx {

class Block;
class LentRegisters;

class Warp {
 public:
  static constexpr int kLanes = static_cast<int>(Program::kLanes);
  enum class Pause : unsigned char { kTurnOver, kLeft };

  Warp(const Program& program, Block& block, int number);
  ~Warp();

  /// At the entry's first instruction, with so many of its lanes.
  void start(std::uint32_t lanes);
  /// Runs until something stops it, at most so many instructions.
  Pause run(std::uint64_t most);
  std::uint64_t steps() const { return steps_; }

  // For instructions.
  std::uint32_t mask() const { return mask_; }
  Block& block() const { return block_; }
  int number() const { return number_; }
  std::uint32_t live() const { return live_; }
  template <class T>
  T* at(std::uint32_t slot) const {
    return reinterpret_cast<T*>(registers_.get() + slot);
  }
  std::uint32_t& predicate(std::uint32_t slot) const { return *at<std::uint32_t>(slot); }
  /// Sets bits of the running lanes.
  void set_predicate(std::uint32_t slot, std::uint32_t bits) const {
    std::uint32_t& p = predicate(slot);
    p = (p & ~mask_) | (bits & mask_);
  }
  /// d[l] = f(l) for the running lanes. `d` may be an operand of f at the same lane.
  template <class T, class F>
  void each(T* d, F f) const {
    if (mask_ == ~std::uint32_t{0}) {
#pragma GCC ivdep
      for (int l = 0; l < kLanes; ++l) d[l] = f(l);
    } else {
      for (int l = 0; l < kLanes; ++l)
        if ((mask_ >> l & 1) != 0) d[l] = f(l);
    }
  }
  const Program& program() const { return program_; }
  /// Registers that products of the warpgroup have.
  LentRegisters& lent();
  std::byte* local(int lane) { return local_.get() + static_cast<std::size_t>(lane) * program_.local_bytes; }
  /// What its lanes that wait for others wait in, in words.
  std::string waits() const;
  const Instruction& now() const { return program_.code[pc_]; }
  /// Whether other lanes can run while these ask in vain for something: then those run next. If all of them ask, the
  /// lanes run whose last question is the oldest.
  bool let_others_run();
  /// The running instruction asks in vain. Whether it is a loop that does nothing else.
  bool asks_in_a_loop();

 private:
  struct Group {
    std::uint32_t pc, lanes;
    bool waiting;             ///< for lanes of other groups
    std::uint64_t asked = 0;  ///< when they asked for something in vain, in steps; 0: they did not
  };
  struct Free {
    void operator()(std::byte* p) const { ::operator delete[](p, std::align_val_t{Program::kSlotAlignment}); }
  };

  /// Takes the group that is to run next. All that are there may wait for one another: that ends the launch.
  void choose();
  void put(Group group);
  /// Lanes that do not take part in the instruction go on behind it.
  void leave_behind(std::uint32_t lanes);
  bool members_are_here(const Instruction& i, std::uint32_t here);

  const Program& program_;
  Block& block_;
  const int number_;
  std::unique_ptr<std::byte[], Free> registers_;
  std::unique_ptr<std::byte[]> local_;
  std::unique_ptr<LentRegisters> lent_;
  std::uint32_t pc_ = 0, active_ = 0, mask_ = 0, live_ = 0;
  std::uint32_t next_group_ = 0;  ///< where the running group meets another one
  std::vector<Group> groups_;     ///< but the running one
  std::uint64_t steps_ = 0, asked_ = 0;
  std::uint32_t asked_at_ = ~0u;
  bool parts_ = false;  ///< the running group is to make way
};

}  // namespace flashfit::ptx
