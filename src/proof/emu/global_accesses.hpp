#pragma once
// Who last wrote and read each byte of global memory that a launch may write, so that an access which no
// synchronisation orders after them is found, whatever the schedule did and whichever block runs first.
//
// One for all host threads of a launch. Memory that the launch may only read is not looked at: nothing in it can race.
#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <unordered_map>
#include <utility>
#include <vector>

#include "proof/emu/accesses.hpp"
#include "proof/emu/memory.hpp"
#include "proof/emu/order.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

/// The last four are one step each, in any order with others of these. kReadOnly: by a load that takes for granted
/// that nobody ever writes there. kAdd: a reduction; kAtomicWrite: a store; kAtomic: any operation that reads and
/// writes.
enum class GlobalAccess : unsigned char { kRead, kReadOnly, kWrite, kAdd, kAtomicRead, kAtomicWrite, kAtomic };

constexpr bool only_reads(GlobalAccess a) {
  return a == GlobalAccess::kRead || a == GlobalAccess::kReadOnly || a == GlobalAccess::kAtomicRead;
}
constexpr bool is_atomic(GlobalAccess a) { return a >= GlobalAccess::kAdd; }
/// Whether two accesses to the same byte need an order.
constexpr bool conflict(GlobalAccess a, GlobalAccess b) {
  return !(only_reads(a) && only_reads(b)) && !(is_atomic(a) && is_atomic(b));
}

class GlobalAccesses {
 public:
  /// Who accesses: thread `thread` of the launch's cluster `cluster`, or an engine that it started and that is done
  /// with it at `done`.
  struct Who {
    std::uint32_t cluster;
    int thread;
    Moment done;
    Proxy proxy;
    Instructions::Instruction instruction;
  };
  /// An earlier access that the new one is not ordered after; or is, but for a missing fence.proxy.async, or although
  /// one of them counts on there being no writes.
  enum class Lacks : unsigned char { kOrder, kFence, kConstancy };
  struct Conflict {
    Who earlier;
    GlobalAccess kind;
    Lacks lacks;
  };

  explicit GlobalAccesses(std::vector<Memory::Range> writable) : ranges_(std::move(writable)) {}

  /// Whether the byte is one that the launch may write.
  bool watches(std::uintptr_t address) const {
    for (const Memory::Range& r : ranges_)
      if (address - r.base < r.bytes) return true;
    return false;
  }
  /// Records an access to watched bytes by somebody who knows `knows`, or says what it conflicts with.
  std::optional<Conflict> access(std::uintptr_t address, std::size_t bytes, GlobalAccess kind, const Who& by,
                                 const Knowledge& knows);

 private:
  static constexpr std::size_t kGranule = 16, kPageGranules = 256;
  /// Of one granule: the oldest reads and additions are forgotten when there are more. Whatever a kernel adds or reads
  /// in every block, the last few tell as well that a later access is not ordered after it.
  static constexpr std::size_t kMostRecords = 32;

  struct Record {
    std::uint32_t epoch, cluster;
    std::int32_t agent;
    std::uint16_t thread, bytes, instruction;  ///< bytes: of the granule, a bit each
    GlobalAccess kind;
    Proxy proxy;

    /// Or, of a generic instruction, by the engine that does it for the thread, whose end is told of now.
    bool by_same(const Record& o) const {
      return cluster == o.cluster && proxy == o.proxy &&
             (agent == o.agent || (proxy == Proxy::kGeneric && thread == o.thread && instruction == o.instruction));
    }
  };
  /// One line of the CPU's cache, as few granules have more than a write and a read.
  struct alignas(64) Granule {
    static constexpr std::size_t kHere = 3;
    Record here[kHere];
    std::uint16_t count = 0, spilled = 0;  ///< spilled: 1 + the index of the list that has them all, if `here` cannot
  };
  static_assert(sizeof(Granule) == 64);
  struct Page {
    std::array<Granule, kPageGranules> granules;
    std::vector<std::vector<Record>> spilled;
  };

  Page& page(std::uintptr_t number);
  static std::optional<Record> enter(Page& page, Granule& granule, const Record& now, const Knowledge& knows,
                                     Lacks& lacks);
  static void append(Page& page, Granule& granule, const Record& record);

  std::vector<Memory::Range> ranges_;
  std::mutex mutex_;
  Instructions instructions_;
  std::unordered_map<std::uintptr_t, std::unique_ptr<Page>> pages_;
  std::uintptr_t last_number_ = 0;  ///< asked for last
  Page* last_ = nullptr;
};

}  // namespace flashfit::emu
