#include "doctor/binaries/elf_version_definitions.hpp"

#include <algorithm>

#include "doctor/binaries/elf_dynamic_entries.hpp"
#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor {
namespace {

// The C library has some fifty.
constexpr std::uint64_t kMostBytes = 1 << 16, kMostNameBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t kDefinitionSize = 20;
constexpr std::uint16_t kBase = 1;

}  // namespace

Result<ElfVersionDefinitions> read_elf_version_definitions(const Source& source, const Elf& elf) {
  const auto tables = read_elf_dynamic_tables(source, elf);
  if (!tables) return tl::unexpected(tables.error());
  const std::uint64_t begin = tables->definitions;
  if (begin == 0 || tables->names == 0) return ElfVersionDefinitions{};
  // Nothing says how long the table is; each record says where the next is.
  const std::uint64_t size = std::min(source.size() - std::min(source.size(), begin), kMostBytes);
  const auto bytes = read_part(source, begin, size, kMostBytes, "defined versions");
  if (!bytes) return tl::unexpected(bytes.error());
  auto names = read_part(source, tables->names, tables->name_size, kMostNameBytes, "names");
  if (!names) return tl::unexpected(names.error());

  const std::uint64_t most = limits::names_of(bytes->size() + names->size());
  ElfVersionDefinitions definitions{.list = {}, .names = StringTable(std::move(*names))};
  std::uint64_t searched = 0;
  // The chain only leads forwards, and no more records are followed than there is room for.
  for (std::uint64_t at = 0; definitions.list.size() <= bytes->size() / kDefinitionSize;) {
    Reader reader(*bytes, at);
    reader.skip(2);
    const std::uint16_t flags = reader.u16(), index = reader.u16();
    reader.skip(6);  // number of names (others are versions that it follows), hash
    const std::uint64_t name_at = at + reader.u32();
    const std::uint32_t next = reader.u32();
    Reader name(*bytes, name_at);
    const auto version = definitions.names.at(name.u32());
    if (!reader.ok() || !name.ok() || !version) return malformed("defined version", begin + at);
    searched += version->size();
    if (searched > most) return beyond("length of all defined versions", most, begin + at);
    definitions.list.push_back({*version, index, (flags & kBase) != 0});
    if (next == 0) return definitions;
    at += next;
  }
  return malformed("defined versions", begin);
}

}  // namespace flashfit::doctor
