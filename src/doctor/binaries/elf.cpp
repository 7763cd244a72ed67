#include "doctor/binaries/elf.hpp"

#include <algorithm>

#include "doctor/bytes/limits.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kHeaderSize = 64, kSectionSize = 64, kSegmentSize = 56;
// Objects with a section a function have tens of thousands; nothing needs more segments than a 16-bit count.
constexpr std::uint64_t kMostSections = 1 << 18, kMostNameBytes = std::uint64_t{64} << 20;
constexpr std::uint32_t kExecute = 1;

struct Tables {
  std::uint64_t segments, sections;
  std::uint32_t segment_count, section_count, names;
};

ElfSection read_section_header(Reader& reader, std::uint32_t& name) {
  ElfSection section;
  name = reader.u32();
  section.type = reader.u32();
  section.flags = reader.u64();
  section.address = reader.u64();
  section.offset = reader.u64();
  section.size = reader.u64();
  section.link = reader.u32();
  section.info = reader.u32();
  reader.skip(16);  // alignment, size of an entry
  return section;
}

Result<Tables> read_header(Reader reader, Elf& elf) {
  reader.skip(4);
  if (reader.u8() != 2) return malformed("ELF of another class than 64-bit", 4);
  if (reader.u8() != 1) return malformed("big-endian ELF", 5);
  reader.skip(1);
  elf.os_abi = reader.u8();
  elf.abi_version = reader.u8();
  reader.skip(7);
  elf.type = static_cast<ElfType>(reader.u16());
  elf.machine = reader.u16();
  elf.version = reader.u32();
  reader.skip(8);  // entry
  Tables tables{};
  tables.segments = reader.u64();
  tables.sections = reader.u64();
  elf.flags = reader.u32();
  reader.skip(2);  // size of this header
  const std::uint16_t segment_size = reader.u16();
  tables.segment_count = reader.u16();
  const std::uint16_t section_size = reader.u16();
  tables.section_count = reader.u16();
  tables.names = reader.u16();
  if (!reader.ok()) return malformed("ELF header cut short", 0);
  if (tables.segment_count > 0 && segment_size != kSegmentSize) return malformed("size of a program header", 54);
  if (tables.sections != 0 && section_size != kSectionSize) return malformed("size of a section header", 58);
  return tables;
}

/// Counts that do not fit the header stand in the first section's.
Result<void> read_extended_counts(const Source& source, Tables& tables) {
  if (tables.sections == 0) {
    tables.section_count = 0;
    return {};
  }
  const auto first = read_part(source, tables.sections, kSectionSize, kSectionSize, "section table");
  if (!first) return tl::unexpected(first.error());
  Reader reader(*first);
  std::uint32_t name = 0;
  const ElfSection section = read_section_header(reader, name);
  if (tables.section_count == 0) {
    if (section.size > kMostSections) return beyond("number of sections", kMostSections, tables.sections);
    tables.section_count = static_cast<std::uint32_t>(section.size);
  }
  if (tables.names == 0xffff) tables.names = section.link;
  return {};
}

Result<void> read_segments(const Source& source, const Tables& tables, Elf& elf) {
  const std::uint64_t size = tables.segment_count * kSegmentSize;
  if (size == 0) return {};
  const auto bytes = read_part(source, tables.segments, size, size, "program headers");
  if (!bytes) return tl::unexpected(bytes.error());
  for (Reader reader(*bytes); reader.left() > 0;) {
    ElfSegment segment;
    segment.type = reader.u32();
    segment.flags = reader.u32();
    segment.offset = reader.u64();
    segment.address = reader.u64();
    reader.skip(8);  // physical address
    segment.size = reader.u64();
    segment.memory_size = reader.u64();
    segment.alignment = reader.u64();
    elf.segments.push_back(segment);
  }
  return {};
}

Result<void> read_sections(const Source& source, const Tables& tables, Elf& elf) {
  const std::uint64_t size = tables.section_count * kSectionSize;
  if (size == 0) return {};
  const auto bytes = read_part(source, tables.sections, size, kMostSections * kSectionSize, "section table");
  if (!bytes) return tl::unexpected(bytes.error());
  std::vector<std::uint32_t> names;
  for (Reader reader(*bytes); reader.left() > 0;) {
    names.push_back(0);
    elf.sections.push_back(read_section_header(reader, names.back()));
  }
  if (tables.names == 0) return {};
  if (tables.names >= elf.sections.size()) return malformed("index of the section names", 62);
  auto table = read_section(source, elf.sections[tables.names], kMostNameBytes);
  if (!table) return tl::unexpected(table.error());
  const std::uint64_t most = limits::names_of(size + table->size());
  elf.names = StringTable(std::move(*table));
  std::uint64_t searched = 0;
  for (std::size_t i = 0; i < names.size(); ++i) {
    const auto name = elf.names.at(names[i]);
    // Of the unused first section, and of stripped files, a name is nowhere.
    if (!name && names[i] != 0) return malformed("name of a section", tables.sections + i * kSectionSize);
    elf.sections[i].name = name.value_or("");
    searched += elf.sections[i].name.size();
    if (searched > most) return beyond("length of all sections' names", most, tables.sections);
  }
  return {};
}

}  // namespace

const ElfSection* Elf::find(std::uint32_t section_type) const {
  const auto found = std::find_if(sections.begin(), sections.end(), [&](auto& s) { return s.type == section_type; });
  return found == sections.end() ? nullptr : &*found;
}

const ElfSection* Elf::find(std::string_view name) const {
  const auto found = std::find_if(sections.begin(), sections.end(), [&](auto& s) { return s.name == name; });
  return found == sections.end() ? nullptr : &*found;
}

bool is_elf(Bytes head) { return Reader(head).u32() == 0x464c457f; }

Result<Elf> read_elf(const Source& source) {
  const auto header = read_part(source, 0, kHeaderSize, kHeaderSize, "ELF header");
  if (!header) return tl::unexpected(header.error());
  if (!is_elf(*header)) return malformed("ELF header", 0);
  Elf elf;
  auto tables = read_header(Reader(*header), elf);
  if (!tables) return tl::unexpected(tables.error());
  if (auto counted = read_extended_counts(source, *tables); !counted) return tl::unexpected(counted.error());
  if (auto read = read_segments(source, *tables, elf); !read) return tl::unexpected(read.error());
  if (auto read = read_sections(source, *tables, elf); !read) return tl::unexpected(read.error());
  return elf;
}

Result<std::vector<std::byte>> read_section(const Source& source, const ElfSection& section, std::uint64_t limit) {
  if (section.type == kSectionNoBits) return std::vector<std::byte>();
  return read_part(source, section.offset, section.size, limit, "section");
}

bool wants_executable_stack(const Elf& elf) {
  if (elf.type == ElfType::kRelocatable) return false;
  const auto stack =
      std::find_if(elf.segments.begin(), elf.segments.end(), [](auto& s) { return s.type == kSegmentStack; });
  return stack == elf.segments.end() ? elf.machine == kMachineX86_64 : (stack->flags & kExecute) != 0;
}

}  // namespace flashfit::doctor
