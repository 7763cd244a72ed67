#include "inspect/elf_symbols.hpp"

namespace flashfit::inspect {
namespace {

constexpr std::uint64_t kSymbolSize = 24, kNeedSize = 16;
constexpr std::uint64_t kMostSymbolBytes = std::uint64_t{64} << 20, kMostNameBytes = std::uint64_t{128} << 20;
constexpr std::uint64_t kMostNeedBytes = (1 << 16) * kNeedSize;
constexpr std::uint16_t kWeak = 2, kHidden = 0x8000;

Result<StringTable> read_names(const Source& source, const Elf& elf, const ElfSection& of) {
  if (of.link >= elf.sections.size()) return malformed("section of a table's names", of.offset);
  auto bytes = read_section(source, elf.sections[of.link], kMostNameBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  return StringTable(std::move(*bytes));
}

/// A version index a dynamic symbol; empty if there are none.
Result<std::vector<std::byte>> read_versions(const Source& source, const Elf& elf, std::size_t symbols) {
  const ElfSection* section = elf.find(kSectionVersions);
  if (section == nullptr) return std::vector<std::byte>();
  auto bytes = read_section(source, *section, kMostSymbolBytes);
  if (bytes && bytes->size() != 2 * symbols) return malformed("number of symbol versions", section->offset);
  return bytes;
}

}  // namespace

Result<ElfSymbols> read_elf_symbols(const Source& source, const Elf& elf, std::uint32_t section_type) {
  const ElfSection* section = elf.find(section_type);
  if (section == nullptr) return ElfSymbols{};
  const auto bytes = read_section(source, *section, kMostSymbolBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  if (bytes->size() % kSymbolSize != 0) return malformed("size of the symbol table", section->offset);
  const std::size_t count = bytes->size() / kSymbolSize;
  auto names = read_names(source, elf, *section);
  if (!names) return tl::unexpected(names.error());
  std::vector<std::byte> versions;
  if (section_type == kSectionDynamicSymbols) {
    auto read = read_versions(source, elf, count);
    if (!read) return tl::unexpected(read.error());
    versions = std::move(*read);
  }

  ElfSymbols symbols{.list = {}, .names = std::move(*names)};
  symbols.list.reserve(count);
  Reader version(versions);
  for (Reader reader(*bytes); reader.left() > 0;) {
    const std::uint64_t at = section->offset + reader.at();
    ElfSymbol symbol;
    const std::uint32_t name = reader.u32();
    const std::uint8_t info = reader.u8();
    symbol.type = info & 15;
    symbol.binding = info >> 4;
    symbol.other = reader.u8();
    symbol.section = reader.u16();
    symbol.value = reader.u64();
    symbol.size = reader.u64();
    if (!versions.empty()) symbol.version = static_cast<std::uint16_t>(version.u16() & ~kHidden);
    const auto text = symbols.names.at(name);
    if (!text && name != 0) return malformed("name of a symbol", at);
    symbol.name = text.value_or("");
    symbols.list.push_back(symbol);
  }
  return symbols;
}

Result<ElfVersionNeeds> read_elf_version_needs(const Source& source, const Elf& elf) {
  const ElfSection* section = elf.find(kSectionVersionNeeds);
  if (section == nullptr) return ElfVersionNeeds{};
  const auto bytes = read_section(source, *section, kMostNeedBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  auto names = read_names(source, elf, *section);
  if (!names) return tl::unexpected(names.error());

  ElfVersionNeeds needs{.list = {}, .names = std::move(*names)};
  // Both chains only lead forwards, and no more records are followed than there is room for.
  const std::uint64_t most = bytes->size() / kNeedSize;
  std::uint64_t followed = 0;
  for (std::uint64_t library_at = 0;;) {
    Reader library(*bytes, library_at);
    library.skip(2);
    const std::uint16_t count = library.u16();
    const auto file = needs.names.at(library.u32());
    std::uint64_t at = library_at + library.u32();
    const std::uint32_t next_library = library.u32();
    if (!library.ok() || !file || ++followed > most) return malformed("needed versions", section->offset + library_at);
    for (std::uint16_t i = 0; i < count; ++i) {
      Reader reader(*bytes, at);
      reader.skip(4);  // hash
      const std::uint16_t flags = reader.u16(), index = reader.u16();
      const auto version = needs.names.at(reader.u32());
      const std::uint32_t next = reader.u32();
      if (!reader.ok() || !version || ++followed > most) return malformed("needed version", section->offset + at);
      needs.list.push_back({*file, *version, static_cast<std::uint16_t>(index & ~kHidden), (flags & kWeak) != 0});
      if (next == 0) break;
      at += next;
    }
    if (next_library == 0) return needs;
    library_at += next_library;
  }
}

}  // namespace flashfit::inspect
