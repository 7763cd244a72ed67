#pragma once
// The memory that CPU tensors of a fuzzed call point into. What lies in no tensor is poisoned for AddressSanitizer
// while the call runs; what the call may not write must be as it was afterwards, in any build.
#include <cstdint>
#include <cstring>
#include <vector>

#if defined(__SANITIZE_ADDRESS__)
#define FLASHFIT_FUZZ_ASAN 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
#define FLASHFIT_FUZZ_ASAN 1
#endif
#endif
#ifdef FLASHFIT_FUZZ_ASAN
#include <sanitizer/asan_interface.h>
#endif

namespace flashfit::fuzz {

/// Bytes [begin, end).
struct Range {
  std::uintptr_t begin, end;
};

class Arena {
 public:
  static constexpr std::size_t kBytes = 96 * 1024;

  Arena() : memory_(kBytes + kAlignment), saved_(kBytes) {
    const auto raw = reinterpret_cast<std::uintptr_t>(memory_.data());
    begin_ = memory_.data() + (kAlignment - raw % kAlignment) % kAlignment;
    std::uint32_t x = 1;
    for (std::size_t i = 0; i < kBytes; ++i)
      begin_[i] = static_cast<std::uint8_t>((x = x * 1664525 + 1013904223) >> 24);
    original_.assign(begin_, begin_ + kBytes);
  }
  Arena(const Arena&) = delete;
  Arena& operator=(const Arena&) = delete;

  std::uint8_t* begin() { return begin_; }
  bool contains(Range r) const {
    const auto first = reinterpret_cast<std::uintptr_t>(begin_);
    return r.begin >= first && r.begin <= r.end && r.end <= first + kBytes;
  }

  void reset() { std::memcpy(begin_, original_.data(), kBytes); }
  void save() { std::memcpy(saved_.data(), begin_, kBytes); }
  void restore() { std::memcpy(begin_, saved_.data(), kBytes); }
  bool is(const std::vector<std::uint8_t>& content) const { return std::memcmp(content.data(), begin_, kBytes) == 0; }
  std::vector<std::uint8_t> copy() const { return {begin_, begin_ + kBytes}; }

  /// Whether every byte is as save() found it, but for those that `may_change` accepts by their address.
  template <class MayChange>
  bool changed_only(MayChange may_change) const {
    if (std::memcmp(saved_.data(), begin_, kBytes) == 0) return true;
    for (std::size_t i = 0; i < kBytes; ++i)
      if (begin_[i] != saved_[i] && !may_change(reinterpret_cast<std::uintptr_t>(begin_ + i))) return false;
    return true;
  }

  /// Leaves only these ranges readable and writable; lift() undoes it. Does nothing without AddressSanitizer.
  void forbid_all_but([[maybe_unused]] const std::vector<Range>& ranges) {
#ifdef FLASHFIT_FUZZ_ASAN
    ASAN_POISON_MEMORY_REGION(begin_, kBytes);
    for (const Range& r : ranges)
      if (contains(r)) ASAN_UNPOISON_MEMORY_REGION(reinterpret_cast<void*>(r.begin), r.end - r.begin);
#endif
  }
  void lift() {
#ifdef FLASHFIT_FUZZ_ASAN
    ASAN_UNPOISON_MEMORY_REGION(begin_, kBytes);
#endif
  }

 private:
  static constexpr std::size_t kAlignment = 4096;
  std::vector<std::uint8_t> memory_, saved_, original_;
  std::uint8_t* begin_;
};

}  // namespace flashfit::fuzz
