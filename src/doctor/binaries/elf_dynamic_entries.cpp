#include "doctor/binaries/elf_dynamic_entries.hpp"

#include <algorithm>

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kEntrySize = 16, kMostEntries = 1 << 16;
constexpr std::uint64_t kMostBuckets = 1 << 22, kMostSymbols = 1 << 22;

/// Every symbol has a link in the old table: its second number counts them.
Result<std::uint64_t> count_by_hash(const Source& source, std::uint64_t at) {
  const auto head = read_part(source, at, 8, 8, "hash table");
  if (!head) return tl::unexpected(head.error());
  return Reader(*head, 4).u32();
}

/// The last chain of the new table ends at the last symbol. Symbols that nobody may find come before all chains.
Result<std::uint64_t> count_by_gnu_hash(const Source& source, std::uint64_t at) {
  const auto head = read_part(source, at, 16, 16, "hash table");
  if (!head) return tl::unexpected(head.error());
  Reader reader(*head);
  const std::uint64_t buckets = reader.u32(), first = reader.u32(), filter = reader.u32();
  if (buckets > kMostBuckets) return beyond("number of hash buckets", kMostBuckets, at);
  const std::uint64_t buckets_at = at + 16 + 8 * filter, chains_at = buckets_at + 4 * buckets;
  const auto table = read_part(source, buckets_at, 4 * buckets, 4 * kMostBuckets, "hash buckets");
  if (!table) return tl::unexpected(table.error());
  std::uint64_t last = 0;
  for (Reader bucket(*table); bucket.left() > 0;) last = std::max<std::uint64_t>(last, bucket.u32());
  if (last < first) return first;
  constexpr std::uint64_t kStep = 256;  // links read at once
  while (last < kMostSymbols) {
    const std::uint64_t link_at = chains_at + 4 * (last - first);
    if (!within(link_at, 4, source.size())) break;
    const std::uint64_t size = std::min(4 * kStep, (source.size() - link_at) / 4 * 4);
    const auto links = read_part(source, link_at, size, size, "hash chain");
    if (!links) return tl::unexpected(links.error());
    for (Reader link(*links); link.left() > 0;) {
      ++last;
      if ((link.u32() & 1) != 0) return last;
    }
  }
  return malformed("hash chain without an end", chains_at);
}

}  // namespace

Result<std::vector<ElfDynamicEntry>> read_elf_dynamic_entries(const Source& source, const Elf& elf) {
  std::vector<ElfDynamicEntry> entries;
  const auto segment =
      std::find_if(elf.segments.begin(), elf.segments.end(), [](auto& s) { return s.type == kSegmentDynamic; });
  if (segment == elf.segments.end()) return entries;
  const auto bytes = read_part(source, segment->offset, segment->size, kMostEntries * kEntrySize, "dynamic segment");
  if (!bytes) return tl::unexpected(bytes.error());
  for (Reader reader(*bytes); reader.left() >= kEntrySize;) {
    const std::uint64_t offset = segment->offset + reader.at(), tag = reader.u64(), value = reader.u64();
    if (tag == kDynamicNull) break;
    entries.push_back({tag, value, offset});
  }
  return entries;
}

std::optional<std::uint64_t> dynamic_value(const std::vector<ElfDynamicEntry>& entries, std::uint64_t tag) {
  const auto found = std::find_if(entries.begin(), entries.end(), [&](auto& e) { return e.tag == tag; });
  return found == entries.end() ? std::nullopt : std::optional(found->value);
}

std::optional<std::uint64_t> offset_of_address(const Elf& elf, std::uint64_t address) {
  for (const ElfSegment& segment : elf.segments)
    if (segment.type == kSegmentLoad && address >= segment.address && address - segment.address < segment.size)
      return segment.offset + (address - segment.address);
  return std::nullopt;
}

Result<ElfDynamicTables> read_elf_dynamic_tables(const Source& source, const Elf& elf) {
  const auto entries = read_elf_dynamic_entries(source, elf);
  if (!entries) return tl::unexpected(entries.error());
  ElfDynamicTables tables;
  tables.name_size = dynamic_value(*entries, kDynamicTextSize).value_or(0);
  std::uint64_t hash = 0, gnu_hash = 0;
  const std::pair<std::uint64_t, std::uint64_t*> places[] = {{kDynamicSymbols, &tables.symbols},
                                                             {kDynamicTexts, &tables.names},
                                                             {kDynamicHash, &hash},
                                                             {kDynamicVersions, &tables.versions},
                                                             {kDynamicVersionNeeds, &tables.needs},
                                                             {kDynamicGnuHash, &gnu_hash},
                                                             {kDynamicVersionDefinitions, &tables.definitions}};
  for (const auto& [tag, place] : places) {
    const auto address = dynamic_value(*entries, tag);
    if (!address) continue;
    const auto offset = offset_of_address(elf, *address);
    if (!offset) return malformed("address of a dynamic table", *address);
    *place = *offset;
  }
  if (tables.symbols == 0 || tables.names == 0 || (hash == 0 && gnu_hash == 0)) return ElfDynamicTables{};
  const auto count = hash != 0 ? count_by_hash(source, hash) : count_by_gnu_hash(source, gnu_hash);
  if (!count) return tl::unexpected(count.error());
  tables.count = *count;
  return tables;
}

}  // namespace flashfit::doctor
