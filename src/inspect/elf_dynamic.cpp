#include "inspect/elf_dynamic.hpp"

#include <algorithm>

namespace flashfit::inspect {
namespace {

constexpr std::uint64_t kEntrySize = 16, kMostEntries = 1 << 16, kMostText = std::uint64_t{64} << 20;
constexpr std::uint64_t kMostCopied = std::uint64_t{1} << 20;

enum : std::uint64_t {
  kNull = 0,
  kNeeded = 1,
  kStringTable = 5,
  kStringSize = 10,
  kSoname = 14,
  kRpath = 15,
  kTextRelocations = 22,
  kRunpath = 29,
  kFlags = 30,
};
constexpr std::uint64_t kFlagTextRelocations = 4, kFlagStaticTls = 16;

struct Entry {
  std::uint64_t tag, value;
};

/// Where the bytes at `address` lie in the file.
std::optional<std::uint64_t> offset_of(const Elf& elf, std::uint64_t address) {
  for (const ElfSegment& segment : elf.segments)
    if (segment.type == kSegmentLoad && address >= segment.address && address - segment.address < segment.size)
      return segment.offset + (address - segment.address);
  return std::nullopt;
}

Result<StringTable> read_texts(const Source& source, const Elf& elf, const std::vector<Entry>& entries) {
  const auto value = [&](std::uint64_t tag) {
    const auto found = std::find_if(entries.begin(), entries.end(), [&](auto& e) { return e.tag == tag; });
    return found == entries.end() ? 0 : found->value;
  };
  const auto offset = offset_of(elf, value(kStringTable));
  if (!offset) return malformed("address of the dynamic texts", value(kStringTable));
  auto bytes = read_part(source, *offset, value(kStringSize), kMostText, "dynamic texts");
  if (!bytes) return tl::unexpected(bytes.error());
  return StringTable(std::move(*bytes));
}

}  // namespace

Result<ElfDynamic> read_elf_dynamic(const Source& source, const Elf& elf) {
  const auto segment =
      std::find_if(elf.segments.begin(), elf.segments.end(), [](auto& s) { return s.type == kSegmentDynamic; });
  if (segment == elf.segments.end()) return ElfDynamic{};
  const auto bytes = read_part(source, segment->offset, segment->size, kMostEntries * kEntrySize, "dynamic segment");
  if (!bytes) return tl::unexpected(bytes.error());
  std::vector<Entry> entries;
  for (Reader reader(*bytes); reader.left() >= kEntrySize;) {
    const std::uint64_t tag = reader.u64(), value = reader.u64();
    if (tag == kNull) break;
    entries.push_back({tag, value});
  }

  ElfDynamic dynamic;
  StringTable texts;
  std::uint64_t copied = 0;
  for (const auto& [tag, value] : entries) {
    if (tag == kTextRelocations) dynamic.text_relocations = true;
    if (tag == kFlags) {
      dynamic.text_relocations |= (value & kFlagTextRelocations) != 0;
      dynamic.static_tls |= (value & kFlagStaticTls) != 0;
    }
    if (tag != kNeeded && tag != kSoname && tag != kRpath && tag != kRunpath) continue;
    if (!texts.at(0)) {
      auto read = read_texts(source, elf, entries);
      if (!read) return tl::unexpected(read.error());
      texts = std::move(*read);
    }
    const auto text = texts.at(value);
    if (!text) return malformed("text of a dynamic entry", segment->offset);
    copied += text->size();
    if (copied > kMostCopied) return beyond("length of the dynamic entries' texts", kMostCopied, segment->offset);
    if (tag == kNeeded) dynamic.needed.emplace_back(*text);
    if (tag == kSoname) dynamic.soname = *text;
    if (tag == kRpath) dynamic.rpath = *text;
    if (tag == kRunpath) dynamic.runpath = *text;
  }
  return dynamic;
}

}  // namespace flashfit::inspect
