#pragma once
// What facts take in memory, and a limit for all of a target's: a file of some kilobytes may hold many, once inflated.
#include <atomic>
#include <cstdint>
#include <string>
#include <type_traits>
#include <vector>

#include "doctor/bytes/limits.hpp"
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// Adds up by the visit() functions beside the structs.
class FactsSize {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (add(values), ...);
  }
  void add(const std::string& text) {
    if (text.capacity() > kInPlace) bytes_ += text.capacity() + kOverhead;
  }
  template <class T>
  void add(const std::vector<T>& list) {
    if (list.capacity() > 0) bytes_ += list.capacity() * sizeof(T) + kOverhead;
    for (const T& item : list) add(item);
  }
  template <class T>
  void add(const T& value) {
    if constexpr (!std::is_enum_v<T> && !std::is_integral_v<T>) visit(*this, const_cast<T&>(value));
  }
  std::uint64_t bytes() const { return bytes_; }

 private:
  static constexpr std::size_t kInPlace = 15;     ///< characters of a string that lie within it
  static constexpr std::uint64_t kOverhead = 16;  ///< of what lies on the heap

  std::uint64_t bytes_ = 0;
};

/// What is kept of all files of a target; several threads may take from it.
class FactsBudget {
 public:
  /// Error: the limit, where this one, which `offset` names the place of, would go beyond it.
  Result<void> take(const Binary& binary, std::uint64_t offset) {
    FactsSize size;
    size.add(binary);
    const std::uint64_t bytes = sizeof(Binary) + size.bytes();
    if (count_.fetch_add(1) == limits::kBinaries.most) return beyond(limits::kBinaries, offset);
    if (spent_.fetch_add(bytes) + bytes > limits::kFactsBytes.most) return beyond(limits::kFactsBytes, offset);
    return {};
  }
  /// Nothing more need be read: take() has said so once.
  bool exhausted() const { return spent_.load() > limits::kFactsBytes.most || count_.load() > limits::kBinaries.most; }

 private:
  std::atomic<std::uint64_t> spent_{0}, count_{0};
};

}  // namespace flashfit::doctor
