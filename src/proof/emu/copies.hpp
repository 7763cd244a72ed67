#pragma once
// Asynchronous copies of one thread, between their issue and the wait that orders them.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "proof/emu/shared_memory.hpp"
#include "proof/emu/site.hpp"

namespace flashfit::emu {

/// A copy of `bytes` (4, 8 or 16), of which `read` come from `source` and the rest are zeros.
struct Copy {
  static constexpr std::size_t kBytes = 16;  ///< of most
  std::byte* destination;
  const std::byte* source;
  std::size_t bytes, read;
  Site site;               ///< where it was issued
  bool announced = false;  ///< an mbarrier will tell that it has landed

  void land() const {
    if (read != 0) std::memcpy(destination, source, read);
    std::memset(destination + read, 0, bytes - read);
  }
};

/// Copies land at the latest moment that the contract allows: at the wait that orders them, or when an arrival at an
/// mbarrier tells of them. Until then the destination holds poison, so that a reader who did not wait gets NaN. Copies
/// that nobody waits for never land.
class CopyQueue {
 public:
  /// At an mbarrier, when the first `copies` of this thread's have landed; its first one is number 1.
  struct Arrival {
    std::uint32_t number;
    std::uint64_t copies;
  };

  void issue(const Copy& copy) {
    SharedMemory::poison(copy.destination, copy.bytes);
    copies_.push_back(copy);
  }

  void commit() { group_ends_.push_back(landed_ + copies_.size()); }

  /// Takes out the copies of all groups but the `pending` youngest and gives each to `landed`.
  template <class Landed>
  void wait(std::size_t pending, const Landed& landed) {
    if (group_ends_.size() <= pending) return;
    const std::size_t groups = group_ends_.size() - pending;
    land_until(group_ends_[groups - 1], landed);
    group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(groups));
  }
  /// The same with the first `count` copies, as far as they have not landed.
  template <class Landed>
  void land_until(std::uint64_t count, const Landed& landed) {
    if (count <= landed_) return;
    const auto landing = static_cast<std::ptrdiff_t>(count - landed_);
    for (std::ptrdiff_t i = 0; i < landing; ++i) landed(copies_[static_cast<std::size_t>(i)]);
    copies_.erase(copies_.begin(), copies_.begin() + landing);
    landed_ = count;
  }

  /// An arrival that tells of all copies so far.
  Arrival arrive() {
    arrivals_.push_back(landed_ + copies_.size());
    return {static_cast<std::uint32_t>(arrivals_.size()), arrivals_.back()};
  }
  /// Gives those to `each` that no arrival told of before.
  template <class Each>
  void announce(const Each& each) {
    for (Copy& c : copies_) {
      if (!c.announced) each(c);
      c.announced = true;
    }
  }
  /// The last arrival all of whose copies have landed; 0: none.
  std::uint32_t arrivals_landed() const {
    return static_cast<std::uint32_t>(std::upper_bound(arrivals_.begin(), arrivals_.end(), landed_) -
                                      arrivals_.begin());
  }

  /// A copy in flight to one of these bytes, or nullptr.
  const Copy* covering(const std::byte* from, std::size_t bytes) const {
    for (const Copy& c : copies_)
      if (c.destination < from + bytes && from < c.destination + c.bytes) return &c;
    return nullptr;
  }

  void clear() { *this = {}; }

  int agent = -1;  ///< whose epochs are the numbers of arrivals (proof/emu/order.hpp)

 private:
  std::vector<Copy> copies_;
  std::uint64_t landed_ = 0;
  std::vector<std::uint64_t> group_ends_, arrivals_;  ///< in copies, counted from the thread's first
};

}  // namespace flashfit::emu
