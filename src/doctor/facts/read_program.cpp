#include "doctor/facts/read_program.hpp"

#include <algorithm>

#include "doctor/facts/collect.hpp"
#include "doctor/facts/cubin_facts.hpp"
#include "doctor/facts/gpu_sections.hpp"
#include "doctor/facts/program_bytes.hpp"
#include "doctor/gpu_code/cubin.hpp"
#include "doctor/packaging/python_module.hpp"

namespace flashfit::doctor {
namespace {

constexpr int kMostPasses = 6;

/// As platform tags write it. Source: the System V ABI's list of e_machine.
std::string machine_of(std::uint16_t machine) {
  switch (machine) {
    case kMachineX86_64:
      return "x86_64";
    case kMachineAarch64:
      return "aarch64";
    case 3:
      return "i686";
    case 40:
      return "armv7l";
    case 21:
      return "ppc64le";
    case 22:
      return "s390x";
    case 243:
      return "riscv64";
    default:
      return fmt::format("machine {}", machine);
  }
}

/// The machine of an ELF file of 32 bits or of the other byte order, of which no more is read: no GPU code goes with
/// it.
/// "" for those that read_elf reads, or refuses.
std::string machine_of_other_class(const Source& source) {
  const auto head = read_part(source, 0, 20, 20, "ELF header");
  if (!head) return "";
  Reader reader(*head, 4);
  const std::uint8_t bits = reader.u8(), order = reader.u8();
  const bool known = (bits == 1 || bits == 2) && (order == 1 || order == 2);
  if (!known || (bits == 2 && order == 1)) return "";
  reader.skip(12);
  const std::uint16_t read = reader.u16();
  const std::uint16_t machine = order == 1 ? read : static_cast<std::uint16_t>(read >> 8 | read << 8);
  // Of the machines with a name some have no other kind of files; a 32-bit file for x86_64 is none that Python loads.
  const bool usual = bits == 1 ? order == 1 && (machine == 3 || machine == 40) : machine == 22;
  return usual ? machine_of(machine) : fmt::format("{} ({})", machine_of(machine), bits == 1 ? "32-bit" : "big-endian");
}

/// What the loader has against a file that Python opens as a module. Other files may be for other programs.
/// Source: glibc, elf/dl-load.c, open_verify; a segment that ends behind the file is read as a bus error.
Result<void> judge_module(const Elf& elf, std::uint64_t size) {
  if (elf.type != ElfType::kShared && elf.type != ElfType::kExecutable)
    return malformed("type of an ELF file that is no library, though named as a module of Python,", 16);
  if (!is_abi_of_linux(elf.os_abi)) return malformed("system of an ELF file, which is not Linux,", 7);
  for (const ElfSegment& s : elf.segments)
    if (s.type == kSegmentLoad && !within(s.offset, s.size, size))
      return malformed("segment of an ELF file that is cut short", s.offset);
  return {};
}

/// The same of a PE file: "x86".
std::string machine_of_pe32(const Source& source) {
  constexpr std::uint64_t kHeaderAt = 60, kMagicAt = 24;
  constexpr std::uint16_t kPe32 = 0x10b, kI386 = 0x14c;
  const auto where = read_part(source, kHeaderAt, 4, 4, "PE file's first header");
  const std::uint64_t at = where ? Reader(*where).u32() : 0;
  const auto header = read_part(source, at, kMagicAt + 2, kMagicAt + 2, "PE header");
  if (!where || !header || Reader(*header, kMagicAt).u16() != kPe32) return "";
  return Reader(*header, 4).u16() == kI386 ? "x86" : "another machine";
}

void note(Binary& binary, const Result<void>& result) {
  if (!result && binary.error.empty()) binary.error = result.error().message;
}

/// Linkers write one of each name. Many, and ones that overlap, would have the same bytes read over and over.
void add_section(const GpuSection& section, std::vector<GpuSection>& sections, Binary& binary) {
  constexpr std::size_t kMostSections = 4;
  const bool overlaps = std::any_of(sections.begin(), sections.end(), [&](const GpuSection& other) {
    return section.offset < other.offset + other.size && other.offset < section.offset + section.size;
  });
  if (overlaps) return note(binary, malformed("sections of GPU code that overlap", section.offset));
  if (sections.size() == kMostSections)
    return note(binary, beyond("number of sections with GPU code", kMostSections, section.offset));
  sections.push_back(section);
}

/// Fills the binary but for its fat binaries; gives the sections that have those.
std::vector<GpuSection> fill_elf(const ProgramBytes& bytes, Binary& binary) {
  const Source& source = bytes.source();
  binary.machine = machine_of_other_class(source);
  if (!binary.machine.empty()) return {};
  const auto elf = read_elf(source);
  if (!elf) {
    binary.error = elf.error().message;
    return {};
  }
  if (is_cubin(*elf)) {
    fill_cubin(source, *elf, binary);
    return {};
  }
  binary.kind = elf->type == ElfType::kRelocatable ? BinaryKind::kObject : BinaryKind::kElf;
  binary.machine = machine_of(elf->machine);
  for (const ElfCollector collect : elf_collectors()) note(binary, collect(source, *elf, binary));
  if (is_named_as_module(binary.path)) note(binary, judge_module(*elf, source.size()));
  std::vector<GpuSection> sections;
  for (const ElfSection& s : elf->sections)
    if ((s.name == ".nv_fatbin" || s.name == "__nv_relfatbin") && s.type != kSectionNoBits && s.size > 0 &&
        within(s.offset, s.size, source.size()))
      add_section({s.offset, s.size, s.name == "__nv_relfatbin"}, sections, binary);
  add_bare_cubins(bytes, sections, binary);
  return sections;
}

std::vector<GpuSection> fill_pe(const ProgramBytes& bytes, Binary& binary) {
  binary.kind = BinaryKind::kPe;
  binary.windows = true;
  binary.machine = machine_of_pe32(bytes.source());
  if (!binary.machine.empty()) return {};
  const auto pe = read_pe(bytes.source());
  if (!pe) {
    binary.error = pe.error().message;
    return {};
  }
  binary.machine = pe->machine == kPeX86_64 ? "amd64" : pe->machine == kPeArm64 ? "arm64" : "another machine";
  for (const PeCollector collect : pe_collectors()) note(binary, collect(bytes.source(), *pe, binary));
  std::vector<GpuSection> sections;
  for (const PeSection& s : pe->sections)
    if ((s.name == ".nv_fatb" || s.name == "__nv_rel") && s.size > 0)
      add_section({s.offset, s.size, s.name == "__nv_rel"}, sections, binary);
  add_bare_cubins(bytes, sections, binary);
  return sections;
}

using Fill = std::vector<GpuSection> (*)(const ProgramBytes& bytes, Binary& binary);

Result<Binary> read_program(const Content& content, const std::string& path, Fill fill) {
  ProgramBytes bytes(content, compiler_named(path).has_value());
  if (auto passed = bytes.first_pass(); !passed) return tl::unexpected(passed.error());
  for (int pass = 1;; ++pass) {
    Binary binary{.path = path, .size = content.size(), .compiler = bytes.compiler()};
    const auto sections = fill(bytes, binary);
    if (!bytes.missed()) {
      note(binary, add_gpu_code(content, sections, bytes.found(), binary));
      return binary;
    }
    if (pass == kMostPasses) return malformed("tables spread over the whole file", 0);
    if (auto passed = bytes.next_pass(); !passed) return tl::unexpected(passed.error());
  }
}

}  // namespace

Result<Binary> read_elf_program(const Content& content, const std::string& path) {
  return read_program(content, path, fill_elf);
}

Result<Binary> read_pe_program(const Content& content, const std::string& path) {
  return read_program(content, path, fill_pe);
}

}  // namespace flashfit::doctor
