#pragma once
// Which thread runs next.
#include <bit>
#include <cstdint>
#include <span>

#include "proof/emu/options.hpp"

namespace flashfit::emu {

/// A generator of its own: fast, the same on every platform, and shared with no
/// instrumented code.
class Xorshift {
 public:
  explicit Xorshift(std::uint32_t seed) : state_(seed * 0x9e3779b9u | 1) {}
  std::uint32_t next() {
    state_ ^= state_ << 13;
    state_ ^= state_ >> 17;
    return state_ ^= state_ << 5;
  }
  /// 0 .. n - 1.
  int below(int n) { return static_cast<int>(std::uint64_t{next()} * static_cast<std::uint32_t>(n) >> 32); }

 private:
  std::uint32_t state_;
};

/// Of a cluster: warps count over its blocks.
struct ThreadIndex {
  int warp, lane;
  bool operator==(const ThreadIndex&) const = default;
};

class Scheduler {
 public:
  Scheduler(Schedule schedule, std::uint32_t seed) : schedule_(schedule), random_(seed) {}

  /// 0 .. n - 1, by the seed.
  int any(int n) { return random_.below(n); }

  /// Whether the grid that may begin now begins now, or only once the one before it has ended.
  bool begins_dependents_early() {
    return schedule_ == Schedule::kRoundRobin || (schedule_ == Schedule::kRandom && any(2) == 0);
  }

  /// The thread that so many warps start with.
  ThreadIndex first(std::span<const std::uint32_t> ready) {
    return next(ready, {schedule_ == Schedule::kReversed ? static_cast<int>(ready.size()) - 1 : 0, first_lane()});
  }

  /// Any thread of `ready`, whatever the schedule: for one that asks and asks, which may wait for any of the others.
  ThreadIndex any_of(std::span<const std::uint32_t> ready) {
    const auto warps = ready.size();
    auto w = static_cast<std::size_t>(random_.below(static_cast<int>(warps)));
    for (std::size_t tried = 0; ready[w] == 0; ++tried, w = (w + 1) % warps)
      if (tried == warps) return {-1, -1};
    return {static_cast<int>(w), any_lane_of(ready[w])};
  }

  /// A thread of `ready` (a mask of lanes for each warp) to follow `now`; warp
  /// = -1 if there is none.
  /// Inlined, as every switch of threads asks.
  [[gnu::always_inline]] ThreadIndex next(std::span<const std::uint32_t> ready, ThreadIndex now) {
    const int warps = static_cast<int>(ready.size());
    int w = schedule_ == Schedule::kRandom ? random_.below(warps) : now.warp;
    for (int tried = 0; tried < warps; ++tried) {
      if (ready[w] != 0) return {w, lane_of(ready[w], w == now.warp ? now.lane : first_lane())};
      w = schedule_ == Schedule::kReversed ? (w == 0 ? warps : w) - 1 : (w + 1 == warps ? 0 : w + 1);
    }
    return {-1, -1};
  }

 private:
  /// What lane_of() counts from in a warp that is entered anew.
  int first_lane() const { return schedule_ == Schedule::kReversed ? 0 : 31; }

  /// The nearest ready lane after (before, any) `lane`, cyclic: a rotation
  /// brings it to an end of the word. The random one favours lanes behind gaps.
  int lane_of(std::uint32_t ready, int lane) {
    switch (schedule_) {
      case Schedule::kRoundRobin:
        return (lane + 1 + std::countr_zero(std::rotr(ready, lane + 1))) % 32;
      case Schedule::kReversed:
        return (lane + 31 - std::countl_zero(std::rotl(ready, 32 - lane))) % 32;
      case Schedule::kRandom:
        break;
    }
    return any_lane_of(ready);
  }
  int any_lane_of(std::uint32_t ready) {
    const int turn = random_.below(32);
    return (turn + std::countr_zero(std::rotr(ready, turn))) % 32;
  }

  Schedule schedule_;
  Xorshift random_;
};

}  // namespace flashfit::emu
