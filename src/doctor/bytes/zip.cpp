#include "doctor/bytes/zip.hpp"

#include <algorithm>

namespace flashfit::doctor {
namespace {

constexpr std::uint32_t kLocal = 0x04034b50, kCentral = 0x02014b50, kEnd = 0x06054b50, kEnd64 = 0x06064b50,
                        kLocator64 = 0x07064b50;
constexpr std::uint64_t kEndSize = 22, kLocator64Size = 20, kEnd64Size = 56, kCentralSize = 46, kLocalSize = 30;
constexpr std::uint64_t kLongestComment = 0xffff;
constexpr std::uint32_t kIn64 = 0xffffffff;
constexpr std::uint16_t kEncrypted = 1 << 0, kPatched = 1 << 5, kStrong = 1 << 6, kMasked = 1 << 13;
constexpr std::uint16_t kExtra64 = 1;
/// Deflate's best: 258 bytes from two bits.
constexpr std::uint64_t kBestRatio = 1032;

struct Directory {
  std::uint64_t members, offset, size, end;
};

/// The record before the one at `end_at`, if the archive is zip64.
Result<Directory> read_end64(const Source& source, std::uint64_t end_at, Directory plain) {
  if (end_at < kLocator64Size) return plain;
  const auto locator = read_part(source, end_at - kLocator64Size, kLocator64Size, kLocator64Size, "zip64 locator");
  if (!locator) return tl::unexpected(locator.error());
  Reader reader(*locator);
  if (reader.u32() != kLocator64) return plain;
  const std::uint32_t disk = reader.u32();
  const std::uint64_t at = reader.u64();
  const std::uint32_t disks = reader.u32();
  if (disk != 0 || disks > 1) return malformed("zip of several disks", end_at - kLocator64Size);
  const auto record = read_part(source, at, kEnd64Size, kEnd64Size, "zip64 end record");
  if (!record) return tl::unexpected(record.error());
  Reader end(*record);
  const std::uint32_t magic = end.u32();
  const std::uint64_t size = end.u64();
  if (magic != kEnd64 || size < kEnd64Size - 12 || size > source.size() || at + 12 + size != end_at - kLocator64Size)
    return malformed("zip64 end record", at);
  end.skip(12);  // versions and disks
  const std::uint64_t here = end.u64(), all = end.u64();
  Directory whole{.members = all, .offset = 0, .size = end.u64(), .end = at};
  whole.offset = end.u64();
  const auto agrees = [](std::uint64_t a, std::uint64_t b, std::uint64_t absent) { return a == absent || a == b; };
  if (here != all || !agrees(plain.members, all, 0xffff) || !agrees(plain.size, whole.size, kIn64) ||
      !agrees(plain.offset, whole.offset, kIn64))
    return malformed("zip64 end record that disagrees with the end record", at);
  return whole;
}

Result<Directory> find_directory(const Source& source) {
  const std::uint64_t size = source.size();
  if (size < kEndSize) return malformed("zip without an end record", size);
  const std::uint64_t from = size - std::min(size, kEndSize + kLongestComment);
  const auto tail = read_part(source, from, size - from, kEndSize + kLongestComment, "end of the zip");
  if (!tail) return tl::unexpected(tail.error());
  for (std::uint64_t at = tail->size() - kEndSize + 1; at-- > 0;) {
    Reader reader(*tail, at);
    if (reader.u32() != kEnd) continue;
    const std::uint16_t disk = reader.u16(), first_disk = reader.u16(), here = reader.u16(), all = reader.u16();
    Directory plain{.members = all, .offset = 0, .size = reader.u32(), .end = from + at};
    plain.offset = reader.u32();
    const std::uint16_t comment = reader.u16();
    if (reader.left() != comment) continue;  // the signature within a comment
    if (disk != 0 || first_disk != 0 || here != all) return malformed("zip of several disks", from + at);
    auto directory = read_end64(source, from + at, plain);
    if (!directory) return directory;
    if (!within(directory->offset, directory->size, directory->end) ||
        directory->offset + directory->size != directory->end)
      return malformed("zip directory that does not end at its end record", from + at);
    return directory;
  }
  return malformed("zip without an end record", size);
}

/// Takes the 64-bit numbers from the extra field where the 32-bit ones say so, in the order that the format has.
bool read_extra64(Bytes extra, ZipMember& member) {
  std::uint64_t* const wide[] = {&member.size, &member.compressed, &member.header};
  if (std::none_of(std::begin(wide), std::end(wide), [](auto* n) { return *n == kIn64; })) return true;
  Reader reader(extra);
  while (reader.left() >= 4) {
    const std::uint16_t id = reader.u16();
    Reader body(reader.take(reader.u16()));
    if (id != kExtra64) continue;
    for (std::uint64_t* number : wide)
      if (*number == kIn64) *number = body.u64();
    return reader.ok() && body.ok();
  }
  return false;
}

bool is_sound_name(std::string_view name) {
  if (name.empty() || name.front() == '/' || name.find('\\') != std::string_view::npos) return false;
  if (std::any_of(name.begin(), name.end(), [](unsigned char c) { return c < 0x20 || c == 0x7f; })) return false;
  for (std::size_t at = 0; at <= name.size();) {
    const std::size_t slash = std::min(name.find('/', at), name.size());
    if (name.substr(at, slash - at) == "..") return false;
    at = slash + 1;
  }
  return true;
}

/// One record of the directory; `offset` is that of `reader`'s start in the file.
Result<ZipMember> read_member(Reader& reader, std::uint64_t offset, const ZipLimits& limits) {
  const std::uint64_t at = offset + reader.at();
  if (reader.u32() != kCentral) return malformed("zip directory record", at);
  reader.skip(4);  // versions
  ZipMember member;
  member.flags = reader.u16();
  const std::uint16_t method = reader.u16();
  reader.skip(4);  // time
  member.crc = reader.u32();
  member.compressed = reader.u32();
  member.size = reader.u32();
  const std::uint16_t name = reader.u16(), extra = reader.u16(), comment = reader.u16(), disk = reader.u16();
  reader.skip(6);  // attributes
  member.header = reader.u32();
  member.name = as_text(reader.take(name));
  const Bytes fields = reader.take(extra);
  reader.skip(comment);
  if (!reader.ok()) return malformed("zip directory record cut short", at);
  if (!is_sound_name(member.name)) return malformed("zip member's name", at + kCentralSize);
  if (disk != 0) return malformed("zip of several disks", at);
  if ((member.flags & (kEncrypted | kPatched | kStrong | kMasked)) != 0) return malformed("encrypted zip member", at);
  if (method != 0 && method != 8) return malformed(fmt::format("zip member of method {}", method), at);
  member.method = static_cast<ZipMethod>(method);
  if (!read_extra64(fields, member)) return malformed("zip64 sizes", at);
  if (member.size > limits.member_bytes) return beyond("size of a zip member", limits.member_bytes, at);
  const bool possible = method == 0 ? member.size == member.compressed : member.size / kBestRatio <= member.compressed;
  if (!possible) return malformed("size of a zip member that its compressed bytes cannot hold", at);
  return member;
}

/// Sets each member's end. Errors: members that overlap each other or the directory; names twice.
Result<void> check_together(std::vector<ZipMember>& members, std::uint64_t directory) {
  std::vector<ZipMember*> order;
  order.reserve(members.size());
  for (ZipMember& member : members) order.push_back(&member);
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->header < b->header; });
  for (std::size_t i = 0; i < order.size(); ++i) {
    ZipMember& member = *order[i];
    member.end = i + 1 < order.size() ? order[i + 1]->header : directory;
    const std::uint64_t header = kLocalSize + member.name.size();
    if (!within(member.header, header, member.end) || !within(member.header + header, member.compressed, member.end))
      return malformed("zip member that overlaps what follows", member.header);
  }
  std::sort(order.begin(), order.end(), [](auto* a, auto* b) { return a->name < b->name; });
  const auto twice =
      std::adjacent_find(order.begin(), order.end(), [](auto* a, auto* b) { return a->name == b->name; });
  if (twice != order.end()) return malformed("zip member's name twice", (*twice)->header);
  return {};
}

}  // namespace

bool is_zip(Bytes head) {
  const std::uint32_t magic = Reader(head).u32();
  return magic == kLocal || magic == kEnd;
}

Result<std::vector<ZipMember>> read_zip_directory(const Source& source, const ZipLimits& limits) {
  const auto found = find_directory(source);
  if (!found) return tl::unexpected(found.error());
  if (found->members > limits.members) return beyond("number of zip members", limits.members, found->end);
  const auto bytes = read_part(source, found->offset, found->size, limits.directory_bytes, "zip directory");
  if (!bytes) return tl::unexpected(bytes.error());
  if (found->members > bytes->size() / kCentralSize) return malformed("number of zip members", found->end);

  std::vector<ZipMember> members;
  members.reserve(found->members);
  std::uint64_t content = 0;
  for (Reader reader(*bytes); reader.left() > 0;) {
    if (members.size() == found->members)
      return malformed("bytes after the zip directory", found->offset + reader.at());
    auto member = read_member(reader, found->offset, limits);
    if (!member) return tl::unexpected(member.error());
    content += member->size;
    if (content > limits.content_bytes) return beyond("content of the zip", limits.content_bytes, found->offset);
    members.push_back(std::move(*member));
  }
  if (members.size() != found->members) return malformed("number of zip members", found->end);
  if (auto sound = check_together(members, found->offset); !sound) return tl::unexpected(sound.error());
  return members;
}

}  // namespace flashfit::doctor
