#pragma once
// Threads that load the same places again and again: they wait for somebody, without saying so.
#include <array>
#include <cstdint>
#include <vector>

namespace flashfit::emu {

/// How often each thread has loaded what it loaded before. A few places in turn are one loop's.
class Patience {
 public:
  /// Loads of the same places after which a thread lets others run, and after which it waits for ever. No kernel needs
  /// the same few numbers so often, and nothing else.
  static constexpr std::uint32_t kTurn = 64, kMost = 1 << 21;

  explicit Patience(std::size_t threads) : asked_(threads) {}

  /// The thread loads from there. How often it has done so since it last loaded from a new place.
  std::uint32_t ask(int thread, std::uintptr_t address) {
    Asked& a = asked_[static_cast<std::size_t>(thread)];
    for (const std::uintptr_t place : a.places)
      if (place == address) return ++a.times;
    a.places[a.next++ % kPlaces] = address;
    return a.times = 0;
  }
  void clear() { asked_.assign(asked_.size(), {}); }

 private:
  static constexpr std::size_t kPlaces = 4;
  struct Asked {
    std::array<std::uintptr_t, kPlaces> places{};
    std::uint32_t next = 0, times = 0;
  };

  std::vector<Asked> asked_;
};

}  // namespace flashfit::emu
