#pragma once
// Memory of a kernel under trial, between red zones.
#include <algorithm>
#include <cstddef>
#include <cstring>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace flashfit::lab {

/// Bytes that a kernel may touch, 256-byte aligned as the driver's memory is. What is around them, and what nobody has
/// set, is NaN as fp16, bf16 and fp32.
class Buffer {
 public:
  Buffer(std::string name, std::size_t bytes, bool writable)
      : name_(std::move(name)), bytes_(bytes), writable_(writable), lines_(2 + (bytes + kLine - 1) / kLine) {
    std::memset(lines_.data(), kPoison, lines_.size() * kLine);
  }
  /// Read-only, with these values.
  template <class T>
  Buffer(std::string name, const std::vector<T>& values) : Buffer(std::move(name), values.size() * sizeof(T), false) {
    std::memcpy(data(), values.data(), bytes_);
  }

  const std::string& name() const { return name_; }
  bool writable() const { return writable_; }
  std::size_t size() const { return bytes_; }
  std::byte* data() { return lines_.data()->bytes + kLine; }
  template <class T>
  std::span<T> as() {
    return {reinterpret_cast<T*>(data()), bytes_ / sizeof(T)};
  }

  /// With the red zones, as it is copied to a GPU and back; data() lies kLine bytes from its begin.
  std::span<std::byte> whole() { return {lines_.data()->bytes, lines_.size() * kLine}; }
  static constexpr std::size_t kLine = 256;
  /// Whether nothing was written outside.
  bool red_zones_intact() {
    const auto poison = [](std::byte b) { return b == std::byte{kPoison}; };
    return std::all_of(whole().data(), data(), poison) &&
           std::all_of(data() + bytes_, whole().data() + whole().size(), poison);
  }

 private:
  static constexpr int kPoison = 0xff;
  struct alignas(kLine) Line {
    std::byte bytes[kLine];
  };

  std::string name_;
  std::size_t bytes_;
  bool writable_;
  std::vector<Line> lines_;
};

}  // namespace flashfit::lab
