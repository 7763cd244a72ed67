#pragma once
// Who last wrote and read each byte of a block's shared memory, so that an
// access which no synchronisation orders after them is found whatever the
// schedule did.
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <vector>

#include "proof/emu/order.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

enum class Proxy : unsigned char { kGeneric, kAsync };

/// Instructions of a kernel that access shared memory, by number: a record of an access is small, so that each byte can
/// have several.
class Instructions {
 public:
  struct Instruction {
    const char* what;  ///< its name
    Site site;
  };

  std::uint32_t number_of(const char* what, const Site& site) {
    if (last_ < all_.size() && is(all_[last_], what, site)) return last_;
    return last_ = find(what, site);
  }
  const Instruction& operator[](std::uint32_t number) const { return all_[number]; }

 private:
  // By address: a place that has two is two instructions, to no harm.
  static bool is(const Instruction& i, const char* what, const Site& site) {
    return i.what == what && i.site.line == site.line && i.site.file == site.file;
  }
  std::uint32_t find(const char* what, const Site& site);

  std::vector<Instruction> all_;
  std::uint32_t last_ = 0;  ///< asked for last
};

/// An access by `thread`'s instruction. If an engine made it, `done` is the moment at which it has ended: a thread that
/// has learnt of that moment comes after the access. Atomic accesses are one step each, in any order among themselves.
struct AccessRecord {
  Moment done;
  std::uint32_t instruction;
  int thread;
  Proxy proxy;
  bool atomic = false;
};

class Accesses {
 public:
  /// An earlier access that the new one is not ordered after; `fence`: it is,
  /// but for a missing fence.proxy.async; `unwritten`: an
  /// engine reads what nobody has written, or who did not say so.
  struct Conflict {
    AccessRecord earlier;
    bool was_write, fence, unwritten = false;
  };
  /// What a record has room for. Agents: threads, and engines, as many as shared memory has room for mbarriers.
  static constexpr std::uint32_t kMostThreads = 1 << 14, kMostAgents = 1 << 20, kMostInstructions = 1 << 11;

  explicit Accesses(std::size_t bytes) : granules_((bytes + kGranule - 1) / kGranule) {}

  /// Records an access to bytes [offset, offset + bytes) by somebody who knows
  /// `knows`, or says what it conflicts with.
  std::optional<Conflict> read(std::size_t offset, std::size_t bytes, const AccessRecord& by, const Knowledge& knows);
  std::optional<Conflict> write(std::size_t offset, std::size_t bytes, const AccessRecord& by, const Knowledge& knows);
  /// Nobody has done anything.
  void clear();

 private:
  static constexpr std::size_t kGranule = 16;
  static constexpr std::uint32_t kHere = 5;  ///< a write, and a read by each warp of a small block

  /// An AccessRecord of a granule. Small, so that a granule's are one line of the CPU's cache, and of whole words, as
  /// what was stored in parts is slow to load at once: looking these up is what an access costs.
  class Record {
   public:
    Record() = default;
    Record(const AccessRecord& by, bool write)
        : epoch_(by.done.epoch),
          place_(static_cast<std::uint32_t>(by.thread) << 18 | (by.atomic ? 1u << 17 : 0u) |
                 (by.proxy == Proxy::kAsync ? 1u << 16 : 0u)),
          rest_(static_cast<std::uint32_t>(by.done.agent) << 12 | by.instruction << 1 | (write ? 1u : 0u)) {}

    Record with(std::uint32_t bytes) const {
      Record copy = *this;
      copy.place_ = (place_ & 0xffff0000) | bytes;
      return copy;
    }
    std::uint32_t bytes() const { return place_ & 0xffff; }  ///< of the granule, a bit each
    bool write() const { return (rest_ & 1) != 0; }
    bool async() const { return (place_ & 1u << 16) != 0; }
    bool atomic() const { return (place_ & 1u << 17) != 0; }
    int agent() const { return static_cast<int>(rest_ >> 12); }
    Moment done() const { return {agent(), epoch_}; }
    AccessRecord whole() const {
      return {done(), rest_ >> 1 & (kMostInstructions - 1), static_cast<int>(place_ >> 18),
              async() ? Proxy::kAsync : Proxy::kGeneric, atomic()};
    }

   private:
    std::uint32_t epoch_, place_, rest_;
  };
  struct alignas(64) Granule {
    Record here[kHere];
    std::uint16_t count = 0, spilled = 0;  ///< spilled: 1 + the index of the list that has them all, if `here` cannot
  };
  static_assert(sizeof(Granule) == 64);

  std::span<Record> records(Granule& granule) {
    return {granule.spilled == 0 ? granule.here : spilled_[granule.spilled - 1u].data(), granule.count};
  }
  static bool is_behind(std::span<const Record> records, std::size_t i, std::uint32_t bytes, const Knowledge& knows);
  void append(Granule& granule, Record record);
  void spill(Granule& granule, Record record);
  /// Calls `each(granule, record)` for all granules of the range, until it returns a conflict.
  template <class Each>
  std::optional<Conflict> over(std::size_t offset, std::size_t bytes, Record by, Each each);

  std::vector<Granule> granules_;
  std::vector<std::vector<Record>> spilled_;
};

}  // namespace flashfit::emu
