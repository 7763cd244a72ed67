#pragma once
// Facts to bytes and back, by the visit() functions beside the structs. Numbers are seven bits a byte, low first.
#include <cstdint>
#include <limits>
#include <optional>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace flashfit::doctor {

class FactsWriter {
 public:
  template <class... T>
  void operator()(const T&... values) {
    (put(values), ...);
  }
  std::string take() { return std::move(out_); }

 private:
  void number(std::uint64_t value) {
    for (; value >= 0x80; value >>= 7) out_ += static_cast<char>(value | 0x80);
    out_ += static_cast<char>(value);
  }
  void put(const std::string& text) {
    number(text.size());
    out_ += text;
  }
  template <class T>
  void put(const std::vector<T>& list) {
    number(list.size());
    for (const T& item : list) put(item);
  }
  template <class T>
  void put(const std::optional<T>& value) {
    number(value.has_value() ? 1 : 0);
    if (value) put(*value);
  }
  template <class T>
  void put(const T& value) {
    if constexpr (std::is_enum_v<T> || std::is_integral_v<T>) {
      number(static_cast<std::uint64_t>(value));
    } else {
      visit(*this, const_cast<T&>(value));  // visit() is one function for both ways; a writer changes nothing
    }
  }
  std::string out_;
};

/// Reads what FactsWriter wrote. Anything else sets ok() to false; no more memory is taken than the bytes can fill, and
/// no number is out of its type's range. Signed ones are counts and versions: checks may reckon with them in int.
class FactsReader {
 public:
  explicit FactsReader(std::string_view bytes) : bytes_(bytes) {}

  template <class... T>
  void operator()(T&... values) {
    (get(values), ...);
  }
  /// Whether everything was sound so far.
  bool ok() const { return ok_; }
  /// Whether nothing is left.
  bool ended() const { return bytes_.empty(); }

 private:
  static constexpr std::uint64_t kMostOfEnum = 31;
  static constexpr std::uint64_t kMostOfSigned = std::uint64_t{1} << 20;  ///< a cubin's threads of a block

  std::uint64_t number() {
    std::uint64_t value = 0;
    for (int shift = 0; shift < 64; shift += 7) {
      if (bytes_.empty()) break;
      const auto byte = static_cast<unsigned char>(bytes_.front());
      bytes_.remove_prefix(1);
      value |= static_cast<std::uint64_t>(byte & 0x7f) << shift;
      if (byte < 0x80) return value;
    }
    ok_ = false;
    return 0;
  }
  void get(std::string& text) {
    const std::uint64_t size = number();
    if (size > bytes_.size()) ok_ = false;
    if (!ok_) return;
    text = bytes_.substr(0, static_cast<std::size_t>(size));
    bytes_.remove_prefix(static_cast<std::size_t>(size));
  }
  template <class T>
  void get(std::vector<T>& list) {
    const std::uint64_t size = number();
    for (std::uint64_t i = 0; i < size && ok_; ++i) {
      if (bytes_.empty()) ok_ = false;
      get(list.emplace_back());
    }
  }
  template <class T>
  void get(std::optional<T>& value) {
    if (number() != 0) get(value.emplace());
  }
  template <class T>
  void get(T& value) {
    if constexpr (std::is_enum_v<T>) {
      const std::uint64_t n = number();
      if (n > kMostOfEnum) ok_ = false;
      value = static_cast<T>(ok_ ? n : 0);
    } else if constexpr (std::is_integral_v<T>) {
      const std::uint64_t n = number();
      if (n > (std::is_signed_v<T> ? kMostOfSigned : std::uint64_t{std::numeric_limits<T>::max()})) ok_ = false;
      value = static_cast<T>(ok_ ? n : 0);
    } else {
      visit(*this, value);
    }
  }
  std::string_view bytes_;
  bool ok_ = true;
};

}  // namespace flashfit::doctor
