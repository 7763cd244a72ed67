// Lists what the readers see in a file, one fact a line, for comparison with other tools:
//   doctor_list FILE...       a wheel (its members), a library, an archive, a cubin, a .fatbin
//   doctor_list --images ...  also decompresses every image and reads it
//   doctor_list --facts ...   lists what the doctor itself makes of each file, in the form of the entries above
//   doctor_list --torch       PyTorch's releases: "torch 2.9.1 10-14 12080 targets 7.0 7.5 ...", the package index's
//   build
#include <fmt/format.h>

#include <array>
#include <cstdio>
#include <exception>
#include <string>
#include <utility>

#include "doctor/binaries/elf_dynamic.hpp"
#include "doctor/binaries/elf_symbols.hpp"
#include "doctor/binaries/pe.hpp"
#include "doctor/bytes/static_library.hpp"
#include "doctor/bytes/zip_member.hpp"
#include "doctor/facts/read_target.hpp"
#include "doctor/gpu_code/cubin.hpp"
#include "doctor/gpu_code/fatbin_payload.hpp"
#include "doctor/gpu_code/fatbin_scanner.hpp"
#include "doctor/gpu_code/ptx.hpp"
#include "doctor/knowledge/torch_releases.hpp"

namespace flashfit::doctor {
namespace {

bool images = false, facts = false;
int failures = 0;

void report(const std::string& path, const Error& error) {
  ++failures;
  fmt::print("error {} {}\n", path, error.message);
}

void list_cubin(const std::string& path, const Source& source) {
  const auto elf = read_elf(source);
  if (!elf) return report(path, elf.error());
  const auto cubin = read_cubin(source, *elf);
  if (!cubin) return report(path, cubin.error());
  fmt::print("cubin {} {} abi={} toolkit={}.{}\n", path, cubin->target.str(), cubin->abi, cubin->toolkit_major,
             cubin->toolkit_minor);
  for (const CubinKernel& k : cubin->kernels)
    fmt::print("kernel {} {} registers={} stack={} shared={} threads={}{}\n", path, k.name, k.registers, k.stack_bytes,
               k.static_shared_bytes, k.max_threads, k.exact_threads ? "!" : "");
}

void list_image(const std::string& path, const Source& source, const FatbinEntry& entry) {
  const auto image = read_image(source, entry);
  if (!image) return report(path, image.error());
  if (entry.kind == FatbinKind::kElf) return list_cubin(path, MemorySource(*image));
  if (entry.kind != FatbinKind::kPtx) return;
  const auto ptx = read_ptx(*image);
  if (!ptx) return report(path, ptx.error());
  fmt::print("ptx {} {} isa={}.{}\n", path, ptx->target.str(), ptx->isa_major, ptx->isa_minor);
}

void list_fatbins(const std::string& path, const Source& source, const std::vector<FatbinContainer>& containers) {
  for (std::size_t c = 0; c < containers.size(); ++c)
    for (const FatbinEntry& e : containers[c].entries) {
      const char* kind = e.kind == FatbinKind::kPtx ? "ptx" : e.kind == FatbinKind::kElf ? "elf" : "other";
      const bool a = (e.flags & kFatbinArchitectureTarget) != 0, f = (e.flags & kFatbinFamilyTarget) != 0;
      fmt::print("entry {} {} {} sm_{}{} {}.{} flags={:x} size={} plain={} {}\n", path, c, kind, e.architecture,
                 a   ? "a"
                 : f ? "f"
                     : "",
                 e.major, e.minor, e.flags, e.size, e.uncompressed, e.options);
      if (images && e.kind != FatbinKind::kLto) list_image(path, source, e);
    }
}

void list_elf(const std::string& path, const Source& source) {
  const auto elf = read_elf(source);
  if (!elf) return report(path, elf.error());
  if (is_cubin(*elf)) return list_cubin(path, source);
  const auto dynamic = read_elf_dynamic(source, *elf);
  if (!dynamic) return report(path, dynamic.error());
  for (const std::string& library : dynamic->needed) fmt::print("needs {} {}\n", path, library);
  fmt::print("elf {} soname={} rpath={} runpath={} execstack={}\n", path, dynamic->soname, dynamic->rpath,
             dynamic->runpath, wants_executable_stack(*elf));
  const auto symbols = read_elf_symbols(source, *elf, kSectionDynamicSymbols);
  const auto versions = read_elf_version_needs(source, *elf);
  if (!symbols) return report(path, symbols.error());
  if (!versions) return report(path, versions.error());
  std::size_t defined = 0;
  for (const ElfSymbol& symbol : symbols->list) defined += symbol.defined() ? 1 : 0;
  fmt::print("symbols {} {} defined={}\n", path, symbols->list.size(), defined);
  for (const ElfVersionNeed& need : versions->list)
    for (const ElfSymbol& symbol : symbols->list)
      if (symbol.version == need.index && !symbol.defined())
        fmt::print("version {} {} {} {}\n", path, need.library, need.version, symbol.name);
  for (const ElfSection& section : elf->sections) {
    if (section.name != ".nv_fatbin" && section.name != "__nv_relfatbin") continue;
    const auto containers = read_fatbins(source, section.offset, section.size);
    if (!containers) return report(path, containers.error());
    list_fatbins(path + ":" + std::string(section.name), source, *containers);
  }
}

void list_pe(const std::string& path, const Source& source) {
  const auto pe = read_pe(source);
  if (!pe) return report(path, pe.error());
  for (const PeImport& import : pe->imports)
    fmt::print("imports {} {} {}{}\n", path, import.library, import.functions.size(), import.delayed ? " delayed" : "");
  for (const PeSection& section : pe->sections) {
    if (section.name != ".nv_fatb" && section.name != "__nv_rel") continue;
    const auto containers = read_fatbins(source, section.offset, section.size);
    if (!containers) return report(path, containers.error());
    list_fatbins(path + ":" + section.name, source, *containers);
  }
}

/// One member, without ever holding it: its GPU code by search, and its CRC.
void scan_member(const std::string& path, const Source& zip, const ZipMember& member) {
  auto reader = ZipMemberReader::open(zip, member);
  if (!reader) return report(path, reader.error());
  FatbinScanner scanner(0, member.size, FatbinScanner::Mode::kSearch);
  for (;;) {
    const std::uint64_t at = reader->at();
    const auto chunk = reader->next();
    if (!chunk) return report(path, chunk.error());
    if (chunk->empty()) break;
    if (auto fed = scanner.feed(at, *chunk); !fed) return report(path, fed.error());
  }
  const auto containers = scanner.finish();
  if (!containers) return report(path, containers.error());
  if (scanner.doubtful() > 0) fmt::print("doubtful {} {}\n", path, scanner.doubtful());
  const bool with_images = std::exchange(images, false);
  list_fatbins(path, zip, *containers);
  images = with_images;
}

void list(const std::string& path, const Source& source) {
  std::array<std::byte, 8> head{};
  const auto peeked = std::span(head).first(std::min<std::uint64_t>(head.size(), source.size()));
  if (!source.read(0, peeked)) return report(path, {Code::kInternal, "cannot be read"});
  if (is_zip(peeked)) {
    const auto members = read_zip_directory(source);
    if (!members) return report(path, members.error());
    fmt::print("zip {} {}\n", path, members->size());
    for (const ZipMember& member : *members) scan_member(path + "!" + member.name, source, member);
  } else if (is_archive(peeked)) {
    const auto members = read_archive(source);
    if (!members) return report(path, members.error());
    for (const ArchiveMember& member : *members) {
      fmt::print("member {} {} {}\n", path, member.name, member.size);
      const PartSource part(source, member.offset, member.size);
      std::array<std::byte, 4> magic{};
      if (part.read(0, magic) && is_elf(magic)) list_elf(path + "!" + member.name, part);
    }
  } else if (is_elf(peeked)) {
    list_elf(path, source);
  } else if (is_pe(peeked)) {
    list_pe(path, source);
  } else if (is_fatbin(peeked)) {
    const auto containers = read_fatbins(source, 0, source.size());
    if (!containers) return report(path, containers.error());
    list_fatbins(path, source, *containers);
  } else {
    auto text = read_part(source, 0, source.size(), kMostImageBytes, "text");
    const auto ptx = text ? read_ptx(*text) : tl::unexpected(text.error());
    if (!ptx) return report(path, ptx.error());
    fmt::print("ptx {} {} isa={}.{}\n", path, ptx->target.str(), ptx->isa_major, ptx->isa_minor);
  }
}

void list_facts(const std::string& path) {
  const Target target = read_file(path);
  for (const std::string& error : target.errors) report(path, {Code::kInvalidArgument, error});
  for (const Binary& binary : target.binaries) {
    if (!binary.error.empty()) report(binary.path, {Code::kInvalidArgument, binary.error});
    if (binary.doubtful > 0) fmt::print("doubtful {} {}\n", binary.path, binary.doubtful);
    for (std::size_t c = 0; c < binary.containers.size(); ++c)
      for (const CodeEntry& e : binary.containers[c].entries) {
        const std::string scope = e.target.scope == TargetScope::kArchitecture ? "a"
                                  : e.target.scope == TargetScope::kFamily     ? "f"
                                                                               : "";
        fmt::print("entry {} {} {} sm_{}{}\n", binary.path.empty() ? path : binary.path, c,
                   e.kind == CodeEntry::Kind::kPtx ? "ptx" : "elf", e.target.architecture, scope);
      }
  }
}

void list_torch() {
  for (const TorchRelease& release : torch_releases())
    if (release.cuda[0] != 0)
      fmt::print("torch {} {}-{} {} targets {}\n", release.str(), release.first_python, release.last_python,
                 release.cuda[0], targets_of_torch(release, release.cuda[0]));
}

int list_all(std::span<char*> words) {
  for (const char* word : words) {
    if (std::string_view(word) == "--torch") {
      list_torch();
      continue;
    }
    if (std::string_view(word) == "--images") {
      images = true;
      continue;
    }
    if (std::string_view(word) == "--facts") {
      facts = true;
      continue;
    }
    if (facts) {
      list_facts(word);
      continue;
    }
    const auto file = FileSource::open(word);
    if (file) {
      list(word, *file);
    } else {
      report(word, file.error());
    }
  }
  return failures == 0 ? 0 : 1;
}

}  // namespace
}  // namespace flashfit::doctor

int main(int argc, char** argv) {
  try {
    return flashfit::doctor::list_all(std::span(argv, static_cast<std::size_t>(argc)).subspan(1));
  } catch (const std::exception& e) {
    std::fputs(e.what(), stderr);  // a full disk
    return 2;
  }
}
