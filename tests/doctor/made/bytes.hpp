#pragma once
// Little-endian bytes, written one after the other: what the tests' made-up files are made of.
#include <cstddef>
#include <cstdint>
#include <string_view>
#include <vector>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor::test {

class MadeBytes {
 public:
  template <class T>
  MadeBytes& number(std::uint64_t value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i)));
    return *this;
  }
  MadeBytes& u8(std::uint64_t v) { return number<std::uint8_t>(v); }
  MadeBytes& u16(std::uint64_t v) { return number<std::uint16_t>(v); }
  MadeBytes& u32(std::uint64_t v) { return number<std::uint32_t>(v); }
  MadeBytes& u64(std::uint64_t v) { return number<std::uint64_t>(v); }
  MadeBytes& zeros(std::size_t count) {
    bytes_.resize(bytes_.size() + count);
    return *this;
  }
  MadeBytes& pad_to(std::size_t size) { return zeros(size > bytes_.size() ? size - bytes_.size() : 0); }
  MadeBytes& align(std::size_t to) { return zeros((to - bytes_.size() % to) % to); }
  MadeBytes& add(Bytes bytes) {
    bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
    return *this;
  }
  MadeBytes& add(std::string_view text) { return add(std::as_bytes(std::span(text))); }
  /// Overwrites what lies at `at`.
  template <class T>
  MadeBytes& put(std::size_t at, std::uint64_t value) {
    for (std::size_t i = 0; i < sizeof(T); ++i) bytes_.at(at + i) = static_cast<std::byte>(value >> (8 * i));
    return *this;
  }

  std::size_t size() const { return bytes_.size(); }
  const std::vector<std::byte>& bytes() const { return bytes_; }

 private:
  std::vector<std::byte> bytes_;
};

/// The first place of `text` in `bytes`, which must be there.
inline std::size_t place(const std::vector<std::byte>& bytes, std::string_view text) {
  return as_text(bytes).find(text);
}

}  // namespace flashfit::doctor::test
