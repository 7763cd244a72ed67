#pragma once
// How a launch is run, and what it counted.
#include <cstdint>
#include <string>

namespace flashfit::emu {

/// Who runs next when a thread must wait. All of them let a warp's lanes run before other warps, but for kRandom.
enum class Schedule : unsigned char {
  kRoundRobin,  ///< the next higher lane, then the next warp
  kReversed,    ///< the next lower lane, then the previous warp
  kRandom,      ///< any lane of any warp, by the seed
};

constexpr const char* name_of(Schedule s) {
  return s == Schedule::kRoundRobin ? "round robin" : s == Schedule::kReversed ? "reversed" : "random";
}

struct Options {
  std::string kernel = "kernel";  ///< what findings call it
  Schedule schedule = Schedule::kRoundRobin;
  std::uint32_t seed = 1;  ///< of kRandom; the same seed repeats the same run
};

/// Counts over all blocks. Collectives count once a warp, the rest once a thread.
struct Stats {
  std::uint64_t blocks = 0, switches = 0;
  std::uint64_t mma = 0, ldmatrix = 0, shuffles = 0, votes = 0;
  std::uint64_t barriers = 0, copies = 0, loads = 0, stores = 0;
};

}  // namespace flashfit::emu
