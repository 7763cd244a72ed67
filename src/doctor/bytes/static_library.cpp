#include "doctor/bytes/static_library.hpp"

#include <charconv>

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMagicSize = 8, kHeaderSize = 60, kNameSize = 16, kSizeAt = 48, kSizeSize = 10, kEndAt = 58;
constexpr std::uint64_t kMostMembers = 1 << 18, kMostNames = std::uint64_t{64} << 20, kLongestName = 4096;

std::optional<std::uint64_t> number(std::string_view text) {
  text = text.substr(0, text.find_last_not_of(' ') + 1);
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size()) return std::nullopt;
  return value;
}

/// Names of the whole archive: GNU's table, and the member whose header is read.
struct Names {
  std::vector<std::byte> table;

  /// The name that the header's field stands for; BSD's lie before the content, which then shrinks.
  std::optional<std::string> resolve(const Source& source, std::string_view field, ArchiveMember& member) const {
    if (field.starts_with("#1/")) {
      const auto length = number(field.substr(3));
      if (!length || *length > kLongestName || *length > member.size) return std::nullopt;
      const auto bytes = read_part(source, member.offset, *length, kLongestName, "name");
      if (!bytes) return std::nullopt;
      member.offset += *length;
      member.size -= *length;
      const std::string_view name = as_text(*bytes);
      return std::string(name.substr(0, name.find('\0')));
    }
    if (field.starts_with('/')) {
      const auto at = number(field.substr(1));
      if (!at || *at >= table.size()) return std::nullopt;
      const std::string_view rest = as_text(table).substr(static_cast<std::size_t>(*at));
      // GNU ends names by "/\n", Microsoft by a zero.
      const std::size_t end = rest.find_first_of(std::string_view("\n\0", 2));
      std::string_view name = rest.substr(0, end);
      if (name.ends_with('/')) name.remove_suffix(1);
      if (end == std::string_view::npos || name.size() > kLongestName) return std::nullopt;
      return std::string(name);
    }
    std::string_view name = field.substr(0, field.find_last_not_of(' ') + 1);
    if (name.ends_with('/')) name.remove_suffix(1);
    return std::string(name);
  }
};

bool is_symbol_table(std::string_view name) { return name.starts_with("__.SYMDEF"); }

}  // namespace

bool is_archive(Bytes head) { return as_text(head).starts_with("!<arch>\n"); }

Result<std::vector<ArchiveMember>> read_archive(const Source& source) {
  const auto magic = read_part(source, 0, kMagicSize, kMagicSize, "archive's magic");
  if (!magic) return tl::unexpected(magic.error());
  if (as_text(*magic) == "!<thin>\n") return malformed("thin archive, whose members lie elsewhere", 0);
  if (!is_archive(*magic)) return malformed("archive's magic", 0);
  std::vector<ArchiveMember> members;
  Names names;
  for (std::uint64_t at = kMagicSize; at < source.size();) {
    const auto header = read_part(source, at, kHeaderSize, kHeaderSize, "archive member's header");
    if (!header) return tl::unexpected(header.error());
    const std::string_view text = as_text(*header);
    const auto size = number(text.substr(kSizeAt, kSizeSize));
    if (!size || text.substr(kEndAt) != "`\n") return malformed("archive member's header", at);
    ArchiveMember member{.name = {}, .offset = at + kHeaderSize, .size = *size};
    if (!within(member.offset, member.size, source.size())) return malformed("archive member's size", at + kSizeAt);
    const std::uint64_t next = member.offset + member.size + member.size % 2;
    const std::string_view field = text.substr(0, kNameSize);
    if (field.starts_with("// ")) {
      auto table = read_part(source, member.offset, member.size, kMostNames, "archive's names");
      if (!table) return tl::unexpected(table.error());
      names.table = std::move(*table);
    } else if (!field.starts_with("/ ") && !field.starts_with("/SYM64/ ")) {
      auto name = names.resolve(source, field, member);
      if (!name) return malformed("archive member's name", at);
      member.name = std::move(*name);
      if (members.size() == kMostMembers) return beyond("number of archive members", kMostMembers, at);
      if (!is_symbol_table(member.name)) members.push_back(std::move(member));
    }
    at = next;
  }
  return members;
}

}  // namespace flashfit::doctor
