#include "doctor/binaries/pe.hpp"

#include <algorithm>

#include "doctor/binaries/pe_imports.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kDosSize = 64, kHeaderAt = 60, kFileHeaderSize = 24, kSectionSize = 40;
constexpr std::uint64_t kOptionalFixed = 112, kDirectorySize = 8, kDirectories = 16;
constexpr std::uint16_t kPlus = 0x20b, kIsLibrary = 0x2000;
// Windows itself long refused more than 96.
constexpr std::uint64_t kMostSections = 256;
constexpr std::size_t kImport = 1, kDelayImport = 13;

struct Headers {
  std::uint16_t sections, optional_size;
};

Result<Headers> read_file_header(const Source& source, std::uint64_t at, Pe& pe) {
  const auto bytes = read_part(source, at, kFileHeaderSize, kFileHeaderSize, "PE header");
  if (!bytes) return tl::unexpected(bytes.error());
  Reader reader(*bytes);
  if (reader.u32() != 0x4550) return malformed("PE header", at);
  pe.machine = reader.u16();
  Headers headers{};
  headers.sections = reader.u16();
  reader.skip(12);  // time, symbols
  headers.optional_size = reader.u16();
  pe.library = (reader.u16() & kIsLibrary) != 0;
  return headers;
}

Result<PeDirectories> read_directories(const Source& source, std::uint64_t at, std::uint64_t size) {
  const auto bytes = read_part(source, at, size, 0xffff, "PE optional header");
  if (!bytes) return tl::unexpected(bytes.error());
  if (Reader(*bytes).u16() != kPlus) return malformed("PE file that is not 64-bit", at);
  Reader reader(*bytes, kOptionalFixed - 4);
  const std::uint64_t count = std::min<std::uint64_t>(reader.u32(), kDirectories);
  if (!reader.ok() || reader.left() < count * kDirectorySize) return malformed("PE optional header cut short", at);
  PeDirectories directories;
  for (std::size_t i = 0; i < count; ++i) {
    const std::uint32_t address = reader.u32();
    reader.skip(4);  // size, which loaders ignore
    if (i == kImport) directories.imports = address;
    if (i == kDelayImport) directories.delayed = address;
  }
  return directories;
}

Result<void> read_sections(const Source& source, std::uint64_t at, std::uint64_t count, Pe& pe) {
  if (count > kMostSections) return beyond("number of PE sections", kMostSections, at);
  const auto bytes = read_part(source, at, count * kSectionSize, kMostSections * kSectionSize, "PE section table");
  if (!bytes) return tl::unexpected(bytes.error());
  for (Reader reader(*bytes); reader.left() > 0;) {
    PeSection section;
    const std::string_view name = as_text(reader.take(8));
    section.name = name.substr(0, name.find('\0'));
    section.size_in_memory = reader.u32();
    section.address = reader.u32();
    section.size = reader.u32();
    section.offset = reader.u32();
    reader.skip(16);  // relocations, lines, flags
    if (section.size > 0 && !within(section.offset, section.size, source.size()))
      return malformed("PE section outside the file", at + reader.at() - kSectionSize);
    pe.sections.push_back(std::move(section));
  }
  return {};
}

}  // namespace

bool is_pe(Bytes head) { return Reader(head).u16() == 0x5a4d; }

Result<Pe> read_pe(const Source& source) {
  const auto dos = read_part(source, 0, kDosSize, kDosSize, "PE file's first header");
  if (!dos) return tl::unexpected(dos.error());
  if (!is_pe(*dos)) return malformed("PE file's first header", 0);
  const std::uint64_t at = Reader(*dos, kHeaderAt).u32();
  Pe pe;
  const auto headers = read_file_header(source, at, pe);
  if (!headers) return tl::unexpected(headers.error());
  const std::uint64_t optional = at + kFileHeaderSize;
  const auto directories = read_directories(source, optional, headers->optional_size);
  if (!directories) return tl::unexpected(directories.error());
  if (auto read = read_sections(source, optional + headers->optional_size, headers->sections, pe); !read)
    return tl::unexpected(read.error());
  auto imports = read_pe_imports(source, pe.sections, *directories);
  if (!imports) return tl::unexpected(imports.error());
  pe.imports = std::move(*imports);
  return pe;
}

}  // namespace flashfit::doctor
