#pragma once
// How a launch is run, and what it counted.
#include <cstdint>
#include <iterator>
#include <optional>
#include <string>

#include "proof/emu/tensor_core.hpp"

namespace flashfit::emu {

/// Who runs next when a thread must wait. All of them let a warp's lanes run
/// before other warps, but for kRandom.
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
  /// How matrix instructions round. By default sums are plain fp32 in the order
  /// of k: a kernel runs half as fast again, the same bits whatever GPU is meant, and nearer
  /// the exact result, so that a kernel's own errors stand out. Else bit for
  /// bit as this tensor core (tensor_core_of()), to compare with hardware and
  /// to see its truncation.
  std::optional<TensorCore> tensor_core;
  /// Bytes of shared memory that a block may have: the GPU's opt-in maximum.
  /// The default is the largest of any GPU, of compute capability 9.0 and 10.0
  /// (CUDA C++ Programming Guide, "Technical Specifications per Compute
  /// Capability").
  std::size_t shared_limit = 227 * 1024;
  /// Whether accesses to global memory that nothing orders are findings. False where blocks are made to write the same
  /// bytes, by offsets that are wrong on purpose: what is asked there is only that they stay inside the tensors.
  bool global_races = true;
  /// The launch, of several grids the first one, is a programmatic dependent launch: kernels queued before it may still
  /// run, so that a thread that has not waited for their end may not touch global memory.
  bool begins_early = false;
  int host_threads = 1;  ///< clusters run on so many at once; what is found and
                         ///< counted does not depend on it
};

/// Counts over all blocks. Collectives count once a warp, the rest once a
/// thread. A bank conflict is a wavefront of shared memory beyond what a warp's
/// instruction needs at best (proof/emu/banks.hpp).
struct Stats {
  std::uint64_t blocks = 0, switches = 0;
  std::uint64_t mma = 0, ldmatrix = 0, shuffles = 0, votes = 0;
  std::uint64_t stmatrix = 0, tensor_copies = 0, wgmma = 0, wgmma_fences = 0, wgmma_commits = 0, wgmma_waits = 0;
  std::uint64_t barriers = 0, copies = 0, loads = 0, stores = 0, atomics = 0;
  std::uint64_t global_bytes_read = 0, global_bytes_written = 0, shared_bytes_read = 0, shared_bytes_written = 0;
  std::uint64_t mbarrier_arrivals = 0, mbarrier_waits = 0, bulk_copies = 0, register_changes = 0;
  std::uint64_t ldmatrix_bank_conflicts = 0, stmatrix_bank_conflicts = 0, copy_bank_conflicts = 0,
                access_bank_conflicts = 0;
  std::string worst_bank_conflicts;  ///< "ldmatrix_x4 at forward.cuh:83: 2048";
                                     ///< "" if there are none
};

struct Counter {
  const char* name;  ///< unique: lower case, with underscores
  std::uint64_t Stats::* value;
};

/// All counters of Stats, in the order to print them.
inline constexpr Counter kCounters[] = {
    {"blocks", &Stats::blocks},
    {"mma", &Stats::mma},
    {"ldmatrix", &Stats::ldmatrix},
    {"stmatrix", &Stats::stmatrix},
    {"tensor_copies", &Stats::tensor_copies},
    {"wgmma", &Stats::wgmma},
    {"wgmma_fences", &Stats::wgmma_fences},
    {"wgmma_commits", &Stats::wgmma_commits},
    {"wgmma_waits", &Stats::wgmma_waits},
    {"shuffles", &Stats::shuffles},
    {"votes", &Stats::votes},
    {"barriers", &Stats::barriers},
    {"copies", &Stats::copies},
    {"bulk_copies", &Stats::bulk_copies},
    {"mbarrier_arrivals", &Stats::mbarrier_arrivals},
    {"mbarrier_waits", &Stats::mbarrier_waits},
    {"register_changes", &Stats::register_changes},
    {"loads", &Stats::loads},
    {"stores", &Stats::stores},
    {"atomics", &Stats::atomics},
    {"global_bytes_read", &Stats::global_bytes_read},
    {"global_bytes_written", &Stats::global_bytes_written},
    {"shared_bytes_read", &Stats::shared_bytes_read},
    {"shared_bytes_written", &Stats::shared_bytes_written},
    {"ldmatrix_bank_conflicts", &Stats::ldmatrix_bank_conflicts},
    {"stmatrix_bank_conflicts", &Stats::stmatrix_bank_conflicts},
    {"copy_bank_conflicts", &Stats::copy_bank_conflicts},
    {"access_bank_conflicts", &Stats::access_bank_conflicts},
    {"switches", &Stats::switches},
};
static_assert(sizeof(Stats) == std::size(kCounters) * sizeof(std::uint64_t) + sizeof(std::string),
              "a counter is not in the list");

/// Adds what other clusters of the launch, or other launches, counted.
inline Stats& operator+=(Stats& sum, const Stats& other) {
  for (const Counter& c : kCounters) sum.*c.value += other.*c.value;
  if (sum.worst_bank_conflicts.empty()) sum.worst_bank_conflicts = other.worst_bank_conflicts;
  return sum;
}

}  // namespace flashfit::emu
