#pragma once
// Asynchronous copies of one thread, between their issue and the wait that orders them.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <vector>

#include "emu/shared_memory.hpp"

namespace flashfit::emu {

/// Copies land at the latest moment that the contract allows: at the wait that orders them. Until then the destination
/// holds poison, so that a reader who did not wait gets NaN. Copies that no commit closed never land.
class CopyQueue {
 public:
  static constexpr std::size_t kBytes = 16;

  /// `source` = nullptr: zeros.
  void issue(std::byte* destination, const std::byte* source) {
    SharedMemory::poison(destination, kBytes);
    copies_.push_back({destination, source});
  }

  void commit() { group_ends_.push_back(copies_.size()); }

  /// Lands all groups but the `pending` youngest.
  void wait(std::size_t pending) {
    if (group_ends_.size() <= pending) return;
    const std::size_t groups = group_ends_.size() - pending, landing = group_ends_[groups - 1];
    for (std::size_t i = 0; i < landing; ++i) land(copies_[i]);
    copies_.erase(copies_.begin(), copies_.begin() + static_cast<std::ptrdiff_t>(landing));
    group_ends_.erase(group_ends_.begin(), group_ends_.begin() + static_cast<std::ptrdiff_t>(groups));
    for (std::size_t& end : group_ends_) end -= landing;
  }

  void clear() {
    copies_.clear();
    group_ends_.clear();
  }

 private:
  struct Copy {
    std::byte* destination;
    const std::byte* source;
  };

  static void land(const Copy& copy) {
    if (copy.source != nullptr)
      std::memcpy(copy.destination, copy.source, kBytes);
    else
      std::memset(copy.destination, 0, kBytes);
  }

  std::vector<Copy> copies_;
  std::vector<std::size_t> group_ends_;
};

}  // namespace flashfit::emu
