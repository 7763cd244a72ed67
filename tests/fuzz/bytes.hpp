#pragma once
// Decisions drawn from a fuzzer's input. An exhausted input gives zeros, and zero always means the ordinary choice, so
// that every prefix of an input is a simpler input.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <limits>

namespace flashfit::fuzz {

class Bytes {
 public:
  Bytes(const std::uint8_t* data, std::size_t size) : at_(data), end_(data + size) {}

  bool empty() const { return at_ == end_; }
  std::uint8_t byte() { return empty() ? 0 : *at_++; }
  std::size_t below(std::size_t count) { return byte() % count; }

  template <class T>
  T number() {
    std::uint8_t raw[sizeof(T)] = {};
    for (std::uint8_t& b : raw) b = byte();
    T value;
    std::memcpy(&value, raw, sizeof value);
    return value;
  }

  template <class List>
  auto pick(const List& list) {
    return *(std::begin(list) + below(std::size(list)));
  }

  /// A number near which checks tend to break, or any number.
  std::int64_t odd_number() {
    constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max(), k31 = std::int64_t{1} << 31;
    constexpr std::int64_t kOdd[] = {
        0,           1,           2,       3,           -1,          8,       16,   k31 - 1,  k31,      k31 + 1,
        k31 - 65536, k31 - 65535, k31 / 2, k31 / 2 + 1, 2 * k31 - 1, 2 * k31, kMax, kMax - 1, kMax / 2, kMax / 2 + 1,
        kMax / 4,    -k31,        -kMax,   -kMax - 1};
    const std::size_t which = below(std::size(kOdd) + 3);
    if (which < std::size(kOdd)) return kOdd[which];
    if (which == std::size(kOdd)) return number<std::int64_t>();
    return which == std::size(kOdd) + 1 ? number<std::int16_t>() : static_cast<std::int64_t>(byte());
  }

 private:
  const std::uint8_t *at_, *end_;
};

}  // namespace flashfit::fuzz
