#pragma once
// Views of bytes that someone else made: every read is checked, little endian, and copies out.
#include <fmt/format.h>

#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>

#include "core/base/error.hpp"

namespace flashfit::doctor {

using Bytes = std::span<const std::byte>;

/// "malformed: WHAT at OFFSET": the file contradicts itself or its format. `offset` counts from the start of what is
/// read.
inline tl::unexpected<Error> malformed(std::string_view what, std::uint64_t offset) {
  return fail(Code::kInvalidArgument, fmt::format("malformed: {} at {}", what, offset));
}

/// "malformed: WHAT beyond the limit of LIMIT at OFFSET": larger than any sound file needs.
inline tl::unexpected<Error> beyond(std::string_view what, std::uint64_t limit, std::uint64_t offset) {
  return malformed(fmt::format("{} beyond the limit of {}", what, limit), offset);
}

/// Whether [at, at + size) lies within [0, total), for any values.
constexpr bool within(std::uint64_t at, std::uint64_t size, std::uint64_t total) {
  return at <= total && size <= total - at;
}

/// The part [at, at + size) of `bytes`, or nothing if it is not whole.
inline std::optional<Bytes> part(Bytes bytes, std::uint64_t at, std::uint64_t size) {
  if (!within(at, size, bytes.size())) return std::nullopt;
  return bytes.subspan(static_cast<std::size_t>(at), static_cast<std::size_t>(size));
}

inline std::string_view as_text(Bytes bytes) { return {reinterpret_cast<const char*>(bytes.data()), bytes.size()}; }

/// Reads unsigned little-endian numbers one after the other. Once a read fails, all later ones do and give zero: check
/// ok() after the last field of a record.
class Reader {
 public:
  explicit Reader(Bytes bytes, std::uint64_t at = 0) : bytes_(bytes), at_(at) {}

  template <class T>
  T number() {
    static_assert(std::is_unsigned_v<T>);
    const auto raw = take(sizeof(T));
    T value = 0;
    for (std::size_t i = 0; i < raw.size(); ++i)
      value = static_cast<T>(value | static_cast<T>(std::to_integer<T>(raw[i]) << (8 * i)));
    return value;
  }
  std::uint8_t u8() { return number<std::uint8_t>(); }
  std::uint16_t u16() { return number<std::uint16_t>(); }
  std::uint32_t u32() { return number<std::uint32_t>(); }
  std::uint64_t u64() { return number<std::uint64_t>(); }

  /// The next `size` bytes; empty if they are not all there.
  Bytes take(std::uint64_t size) {
    const auto taken = ok_ ? part(bytes_, at_, size) : std::nullopt;
    if (!taken) {
      ok_ = false;
      return {};
    }
    at_ += size;
    return *taken;
  }
  void skip(std::uint64_t size) { take(size); }

  bool ok() const { return ok_; }
  std::uint64_t at() const { return at_; }
  std::uint64_t left() const { return ok_ ? bytes_.size() - at_ : 0; }

 private:
  Bytes bytes_;
  std::uint64_t at_;
  bool ok_ = true;
};

/// The zero-terminated text at `at`; nothing if `at` lies outside or no zero follows.
inline std::optional<std::string_view> text_at(Bytes table, std::uint64_t at) {
  if (at >= table.size()) return std::nullopt;
  const std::string_view rest = as_text(table).substr(static_cast<std::size_t>(at));
  const std::size_t end = rest.find('\0');
  if (end == std::string_view::npos) return std::nullopt;
  return rest.substr(0, end);
}

}  // namespace flashfit::doctor
