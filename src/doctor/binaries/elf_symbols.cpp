#include "doctor/binaries/elf_symbols.hpp"

#include <algorithm>

#include "doctor/binaries/elf_dynamic_entries.hpp"
#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kSymbolSize = 24, kNeedSize = 16;
constexpr std::uint64_t kMostSymbolBytes = std::uint64_t{64} << 20, kMostNameBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostNeedBytes = (1 << 16) * kNeedSize, kMostUnsizedNeeds = 1 << 16;
constexpr std::uint16_t kWeak = 2, kHidden = 0x8000;

/// Bytes of the file.
struct Place {
  std::uint64_t offset = 0, size = 0;
};

/// Where the tables lie, by the section table or by the dynamic segment.
struct Places {
  Place symbols, names, versions, needs;  ///< an offset of 0: there is no such table
};

Result<Place> place_of(const Elf& elf, const ElfSection& section) {
  if (section.link >= elf.sections.size()) return malformed("section of a table's names", section.offset);
  const ElfSection& names = elf.sections[section.link];
  return names.type == kSectionNoBits ? Place{} : Place{names.offset, names.size};
}

/// By the section table.
Result<Places> find_symbols(const Elf& elf, const ElfSection& section) {
  const auto names = place_of(elf, section);
  if (!names) return tl::unexpected(names.error());
  Places places{.symbols = {section.offset, section.type == kSectionNoBits ? 0 : section.size}, .names = *names};
  const ElfSection* const versions = elf.find(kSectionVersions);
  if (section.type == kSectionDynamicSymbols && versions != nullptr)
    places.versions = {versions->offset, versions->size};
  return places;
}

/// As the loader does, for files without a section table.
Result<Places> find_as_loader(const Source& source, const Elf& elf) {
  const auto tables = read_elf_dynamic_tables(source, elf);
  if (!tables) return tl::unexpected(tables.error());
  Places places{.symbols = {tables->symbols, tables->count * kSymbolSize}, .names = {tables->names, tables->name_size}};
  if (tables->versions != 0) places.versions = {tables->versions, 2 * tables->count};
  // Nothing says how long the needs are; each record says where the next is.
  const std::uint64_t rest = source.size() - std::min(source.size(), tables->needs);
  if (tables->needs != 0) places.needs = {tables->needs, std::min(rest, kMostUnsizedNeeds)};
  return places;
}

Result<StringTable> read_names(const Source& source, const Place& names) {
  auto bytes = read_part(source, names.offset, names.size, kMostNameBytes, "names");
  if (!bytes) return tl::unexpected(bytes.error());
  return StringTable(std::move(*bytes));
}

/// A version index a dynamic symbol; empty if there are none.
Result<std::vector<std::byte>> read_versions(const Source& source, const Place& versions, std::size_t symbols) {
  if (versions.offset == 0) return std::vector<std::byte>();
  auto bytes = read_part(source, versions.offset, versions.size, kMostSymbolBytes, "symbol versions");
  if (bytes && bytes->size() != 2 * symbols) return malformed("number of symbol versions", versions.offset);
  return bytes;
}

bool has_no_sections(const Elf& elf) { return elf.sections.empty(); }

}  // namespace

Result<ElfSymbols> read_elf_symbols(const Source& source, const Elf& elf, std::uint32_t section_type) {
  const ElfSection* section = elf.find(section_type);
  const bool as_loader = has_no_sections(elf) && section_type == kSectionDynamicSymbols;
  if (section == nullptr && !as_loader) return ElfSymbols{};
  const auto places = as_loader ? find_as_loader(source, elf) : find_symbols(elf, *section);
  if (!places) return tl::unexpected(places.error());
  if (places->symbols.offset == 0) return ElfSymbols{};
  const auto bytes = read_part(source, places->symbols.offset, places->symbols.size, kMostSymbolBytes, "symbols");
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() % kSymbolSize != 0) return malformed("size of the symbol table", places->symbols.offset);
  const std::size_t count = bytes->size() / kSymbolSize;
  auto names = read_names(source, places->names);
  if (!names) return tl::unexpected(names.error());
  const auto versions = read_versions(source, places->versions, count);
  if (!versions) return tl::unexpected(versions.error());

  const std::uint64_t most = limits::names_of(bytes->size() + places->names.size);
  ElfSymbols symbols{.list = {}, .names = std::move(*names)};
  symbols.list.reserve(count);
  std::uint64_t searched = 0;
  Reader version(*versions);
  for (Reader reader(*bytes); reader.left() > 0;) {
    const std::uint64_t at = places->symbols.offset + reader.at();
    ElfSymbol symbol;
    const std::uint32_t name = reader.u32();
    const std::uint8_t info = reader.u8();
    symbol.type = info & 15;
    symbol.binding = info >> 4;
    symbol.other = reader.u8();
    symbol.section = reader.u16();
    symbol.value = reader.u64();
    symbol.size = reader.u64();
    if (!versions->empty()) symbol.version = static_cast<std::uint16_t>(version.u16() & ~kHidden);
    const auto text = symbols.names.at(name);
    if (!text && name != 0) return malformed("name of a symbol", at);
    searched += text.value_or("").size();
    if (searched > most) return beyond("length of all symbols' names", most, at);
    symbol.name = text.value_or("");
    symbols.list.push_back(symbol);
  }
  return symbols;
}

Result<ElfVersionNeeds> read_elf_version_needs(const Source& source, const Elf& elf) {
  const ElfSection* section = elf.find(kSectionVersionNeeds);
  Places places;
  if (has_no_sections(elf)) {
    const auto found = find_as_loader(source, elf);
    if (!found) return tl::unexpected(found.error());
    places = *found;
  } else if (section != nullptr) {
    const auto names = place_of(elf, *section);
    if (!names) return tl::unexpected(names.error());
    places = {.names = *names, .needs = {section->offset, section->size}};
  }
  if (places.needs.offset == 0) return ElfVersionNeeds{};
  const std::uint64_t begin = places.needs.offset;
  const auto bytes = read_part(source, begin, places.needs.size, kMostNeedBytes, "needed versions");
  if (!bytes) return tl::unexpected(bytes.error());
  auto names = read_names(source, places.names);
  if (!names) return tl::unexpected(names.error());

  ElfVersionNeeds needs{.list = {}, .names = std::move(*names)};
  // Both chains only lead forwards, and no more records are followed than there is room for.
  const std::uint64_t most = bytes->size() / kNeedSize;
  const std::uint64_t most_text = limits::names_of(bytes->size() + places.names.size);
  std::uint64_t followed = 0, searched = 0;
  for (std::uint64_t library_at = 0;;) {
    Reader library(*bytes, library_at);
    library.skip(2);
    const std::uint16_t count = library.u16();
    const auto file = needs.names.at(library.u32());
    std::uint64_t at = library_at + library.u32();
    const std::uint32_t next_library = library.u32();
    if (!library.ok() || !file || ++followed > most) return malformed("needed versions", begin + library_at);
    for (std::uint16_t i = 0; i < count; ++i) {
      Reader reader(*bytes, at);
      reader.skip(4);  // hash
      const std::uint16_t flags = reader.u16(), index = reader.u16();
      const auto version = needs.names.at(reader.u32());
      const std::uint32_t next = reader.u32();
      if (!reader.ok() || !version || ++followed > most) return malformed("needed version", begin + at);
      searched += file->size() + version->size();
      if (searched > most_text) return beyond("length of all needed versions", most_text, begin + at);
      needs.list.push_back({*file, *version, static_cast<std::uint16_t>(index & ~kHidden), (flags & kWeak) != 0});
      if (next == 0) break;
      at += next;
    }
    if (next_library == 0) return needs;
    library_at += next_library;
  }
}

}  // namespace flashfit::doctor
