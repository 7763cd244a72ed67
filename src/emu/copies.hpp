#pragma once
// Asynchronous copies of one thread, between their issue and the wait that orders them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "emu/shared_memory.hpp"
#include "emu/site.hpp"

namespace flashfit::emu {

/// A copy of 16 bytes. `source` = nullptr: zeros.
struct Copy {
  static constexpr std::size_t kBytes = 16;
  std::byte* destination;
  const std::byte* source;
  Site site;  ///< where it was issued

  void land() const {
    if (source != nullptr)
      std::memcpy(destination, source, kBytes);
    else
      std::memset(destination, 0, kBytes);
  }
};

/// Copies land at the latest moment that the contract allows: at the wait that orders them. Until then the destination
/// holds poison, so that a reader who did not wait gets NaN. Copies that no commit closed never land.
class CopyQueue {
 public:
  void issue(const Copy& copy) {
    SharedMemory::poison(copy.destination, Copy::kBytes);
    copies_.push_back(copy);
  }

  void commit() { group_ends_.push_back(copies_.size()); }

  /// Takes out the copies of all groups but the `pending` youngest and gives each to `landed`.
  template <class Landed>
  void wait(std::size_t pending, const Landed& landed) {
    if (group_ends_.size() <= pending) return;
    const std::size_t groups = group_ends_.size() - pending, landing = group_ends_[groups - 1];
    for (std::size_t i = 0; i < landing; ++i) landed(copies_[i]);
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(landing));
    group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(groups));
    for (std::size_t& end : group_ends_) end -= landing;
  }

  /// A copy in flight to one of these bytes, or nullptr.
  const Copy* covering(const std::byte* from, std::size_t bytes) const {
    for (const Copy& c : copies_)
      if (c.destination < from + bytes && from < c.destination + Copy::kBytes) return &c;
    return nullptr;
  }

  void clear() {
    copies_.clear();
    group_ends_.clear();
  }

 private:
  std::vector<Copy> copies_;
  std::vector<std::size_t> group_ends_;
};

}  // namespace flashfit::emu
