#include "doctor/bytes/tar.hpp"

#include <algorithm>
#include <charconv>
#include <optional>
#include <utility>

#include "core/base/ascii.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kLargestContent = std::uint64_t{1} << 40;

std::uint64_t padded(std::uint64_t size) {
  return (size + TarReader::kBlock - 1) / TarReader::kBlock * TarReader::kBlock;
}

std::string field(std::string_view header, std::size_t at, std::size_t size) {
  const std::string_view text = header.substr(at, size);
  return std::string(text.substr(0, text.find('\0')));
}

/// Octal digits, or GNU's base 256 where the first bit is set. Nothing if it is neither, or beyond 2^63.
std::optional<std::uint64_t> number(std::string_view text) {
  if ((static_cast<unsigned char>(text[0]) & 0x80) != 0) {
    std::uint64_t value = static_cast<unsigned char>(text[0]) & 0x7f;
    for (const char c : text.substr(1)) {
      if (value >> 55 != 0) return std::nullopt;
      value = value << 8 | static_cast<unsigned char>(c);
    }
    return value;
  }
  const std::string_view digits = trimmed(text.substr(0, text.find('\0')));
  std::uint64_t value = 0;
  if (digits.empty()) return value;
  const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value, 8);
  if (error != std::errc() || end != digits.data() + digits.size()) return std::nullopt;
  return value;
}

/// The sum of a header's bytes, its own field taken for spaces; old programs summed signed bytes.
bool checksum_holds(std::string_view header) {
  constexpr std::size_t kAt = 148, kSize = 8;
  const auto said = number(header.substr(kAt, kSize));
  std::int64_t plain = 0, as_signed = 0;
  for (std::size_t i = 0; i < header.size(); ++i) {
    const char c = i >= kAt && i < kAt + kSize ? ' ' : header[i];
    plain += static_cast<unsigned char>(c);
    as_signed += static_cast<signed char>(c);
  }
  return said && (static_cast<std::int64_t>(*said) == plain || static_cast<std::int64_t>(*said) == as_signed);
}

TarMember::Kind kind_of(char type) {
  switch (type) {
    case '0':
    case '\0':
    case '7':
      return TarMember::Kind::kFile;
    case '1':
      return TarMember::Kind::kHardLink;
    case '2':
      return TarMember::Kind::kLink;
    case '5':
      return TarMember::Kind::kFolder;
    default:
      return TarMember::Kind::kOther;
  }
}

}  // namespace

Result<std::uint64_t> TarReader::feed(std::uint64_t at, Bytes chunk) {
  while (state_ != State::kEnded) {
    // What was not wanted may be given all the same.
    const auto unwanted = std::min<std::uint64_t>(chunk.size(), at_ - std::min(at, at_));
    chunk = chunk.subspan(static_cast<std::size_t>(unwanted));
    if (chunk.empty()) return at_;
    const Bytes piece = chunk.first(static_cast<std::size_t>(std::min<std::uint64_t>(chunk.size(), until_ - at_)));
    chunk = chunk.subspan(piece.size());
    at_ += piece.size();
    at = at_;
    if (state_ != State::kContent) {
      held_.append(as_text(piece));
    } else if (auto taken = visitor_.content(piece); !taken) {
      return tl::unexpected(taken.error());
    }
    if (at_ < until_) continue;
    const auto done = state_ == State::kHeader ? take_header() : state_ == State::kText ? take_text() : take_end();
    if (!done) return tl::unexpected(done.error());
  }
  return kEnd;
}

Result<void> TarReader::finish(std::uint64_t size) const {
  // Some programs leave out the empty blocks at the end.
  const bool whole = state_ == State::kEnded || (state_ == State::kHeader && held_.empty() && at_ <= padded(size));
  if (!whole) return malformed("tar archive cut short", size);
  return {};
}

void TarReader::go_on(State state, std::uint64_t at, std::uint64_t size) {
  state_ = state;
  at_ = at;
  until_ = at + size;
}

Result<void> TarReader::take_header() {
  const std::string header = std::exchange(held_, {});
  const std::uint64_t begin = at_ - kBlock;
  if (std::all_of(header.begin(), header.end(), [](char c) { return c == 0; })) {
    state_ = State::kEnded;
    return {};
  }
  if (!checksum_holds(header)) return malformed("checksum of a tar header", begin);
  sound_ = true;
  const std::string_view text = header;
  auto size = number(text.substr(124, 12));
  type_ = header[156];
  const TarMember::Kind kind = kind_of(type_);
  const bool is_text = type_ == 'L' || type_ == 'K' || type_ == 'x' || type_ == 'g';
  if (!is_text && next_.size) size = next_.size;
  if (!size || *size > kLargestContent) return malformed("size of a tar member", begin);
  if (type_ == 'S') return malformed("sparse tar member, which is not read,", begin);
  if (is_text) {
    if (*size > kLargestHeader) return beyond("tar header of names", kLargestHeader, begin);
    text_padding_ = padded(*size) - *size;
    if (*size == 0) return {};
    go_on(State::kText, at_, *size);
    return {};
  }
  TarMember member{.kind = kind, .offset = at_};
  const std::string prefix = text.substr(257, 6) == std::string_view("ustar\0", 6) ? field(text, 345, 155) : "";
  member.name = !next_.name.empty() ? next_.name : (prefix.empty() ? "" : prefix + "/") + field(text, 0, 100);
  member.target = !next_.target.empty() ? next_.target : field(text, 157, 100);
  next_ = {};
  // Old archives have folders as files whose names end so.
  if (kind == TarMember::Kind::kFile && member.name.ends_with('/')) member.kind = TarMember::Kind::kFolder;
  // Of what is no file the size means nothing, or says how large the other name of a hard link is.
  const bool has_content = kind == TarMember::Kind::kFile || kind == TarMember::Kind::kOther;
  member.size = has_content ? *size : 0;
  return open(member);
}

Result<void> TarReader::open(const TarMember& member) {
  const auto wanted = visitor_.begin(member);
  if (!wanted) return tl::unexpected(wanted.error());
  after_ = member.offset + padded(member.size);
  if (!*wanted || member.size == 0) {
    go_on(State::kHeader, after_, kBlock);
    return *wanted ? visitor_.end() : Result<void>{};
  }
  go_on(State::kContent, member.offset, member.size);
  return {};
}

Result<void> TarReader::take_end() {
  go_on(State::kHeader, after_, kBlock);
  return visitor_.end();
}

Result<void> TarReader::take_text() {
  const std::string text = std::exchange(held_, {});
  const std::uint64_t begin = at_ - text.size();
  go_on(State::kHeader, at_ + text_padding_, kBlock);
  if (type_ == 'g') return {};  // about the archive, not about a member
  if (type_ == 'x') return take_pax(text, begin);
  std::string& name = type_ == 'L' ? next_.name : next_.target;
  name = text.substr(0, text.find('\0'));
  if (name.size() > kLongestName) return beyond("name in a tar archive", kLongestName, begin);
  return {};
}

/// "27 path=a/b\n": each record says its own length.
Result<void> TarReader::take_pax(std::string_view text, std::uint64_t begin) {
  while (!text.empty()) {
    std::size_t size = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), size);
    const auto digits = static_cast<std::size_t>(end - text.data());
    if (error != std::errc() || size > text.size() || size < digits + 3 || text[digits] != ' ' ||
        text[size - 1] != '\n')
      return malformed("pax record of a tar archive", begin);
    const std::string_view record = text.substr(digits + 1, size - digits - 2);
    const std::size_t equals = record.find('=');
    if (equals == std::string_view::npos) return malformed("pax record of a tar archive", begin);
    const std::string_view key = record.substr(0, equals), value = record.substr(equals + 1);
    if (key.starts_with("GNU.sparse.")) return malformed("sparse tar member, which is not read,", begin);
    if (key == "path" || key == "linkpath") {
      if (value.size() > kLongestName) return beyond("name in a tar archive", kLongestName, begin);
      (key == "path" ? next_.name : next_.target) = value.substr(0, value.find('\0'));
    } else if (key == "size") {
      std::uint64_t number = 0;
      const auto [last, bad] = std::from_chars(value.data(), value.data() + value.size(), number);
      if (bad != std::errc() || last != value.data() + value.size()) return malformed("size of a tar member", begin);
      next_.size = number;
    }
    text.remove_prefix(size);
  }
  return {};
}

}  // namespace flashfit::doctor
