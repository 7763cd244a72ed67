#include "inspect/read_program.hpp"

#include "inspect/collect.hpp"
#include "inspect/cubin.hpp"
#include "inspect/cubin_facts.hpp"
#include "inspect/gpu_sections.hpp"
#include "inspect/program_bytes.hpp"

namespace flashfit::inspect {
namespace {

constexpr int kMostPasses = 6;

std::string machine_of(std::uint16_t machine) {
  if (machine == kMachineX86_64) return "x86_64";
  if (machine == kMachineAarch64) return "aarch64";
  return fmt::format("machine {}", machine);
}

void note(Binary& binary, const Result<void>& result) {
  if (!result && binary.error.empty()) binary.error = result.error().message;
}

/// Fills the binary but for its fat binaries; gives the sections that have those.
std::vector<GpuSection> fill_elf(const ProgramBytes& bytes, Binary& binary) {
  const Source& source = bytes.source();
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
  std::vector<GpuSection> sections;
  for (const ElfSection& s : elf->sections)
    if ((s.name == ".nv_fatbin" || s.name == "__nv_relfatbin") && s.type != kSectionNoBits && s.size > 0 &&
        within(s.offset, s.size, source.size()))
      sections.push_back({s.offset, s.size, s.name == "__nv_relfatbin"});
  add_bare_cubins(bytes, sections, binary);
  return sections;
}

std::vector<GpuSection> fill_pe(const ProgramBytes& bytes, Binary& binary) {
  binary.kind = BinaryKind::kPe;
  binary.windows = true;
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
      sections.push_back({s.offset, s.size, s.name == "__nv_rel"});
  add_bare_cubins(bytes, sections, binary);
  return sections;
}

using Fill = std::vector<GpuSection> (*)(const ProgramBytes& bytes, Binary& binary);

Result<Binary> read_program(const Content& content, const std::string& path, Fill fill) {
  ProgramBytes bytes(content);
  if (auto passed = bytes.first_pass(); !passed) return tl::unexpected(passed.error());
  for (int pass = 1;; ++pass) {
    Binary binary{.path = path, .size = content.size()};
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

}  // namespace flashfit::inspect
