#include "inspect/read_binary.hpp"

#include <algorithm>

#include "inspect/archive.hpp"
#include "inspect/collect.hpp"
#include "inspect/cubin.hpp"
#include "inspect/gpu_sections.hpp"
#include "inspect/kept_source.hpp"
#include "inspect/ptx.hpp"
#include "inspect/spool.hpp"

namespace flashfit::inspect {
namespace {

// Symbols come early in a library and texts that patchelf moves come last: the largest of PyTorch's end at 8.1 MB, and
// its last tables fill 7.1 MB.
constexpr std::uint64_t kKeptHead = std::uint64_t{10} << 20, kKeptTail = std::uint64_t{8} << 20;
constexpr std::uint64_t kMostDynamic = std::uint64_t{1} << 20;
constexpr int kMostPasses = 6;
constexpr std::uint64_t kMostPtxHead = std::uint64_t{64} << 10;

enum class Format { kNone, kElf, kPe, kArchive, kFatbin, kPtx };

/// "MZ" opens many things; a program of Windows has its second header where the first says.
bool is_windows_program(Bytes head) {
  if (!is_pe(head)) return false;
  const std::uint32_t at = Reader(head, 60).u32();
  return at + 4 > head.size() || Reader(head, at).u32() == 0x4550;
}

Format format_of(Bytes head) {
  if (is_elf(head)) return Format::kElf;
  if (is_archive(head)) return Format::kArchive;
  if (is_fatbin(head)) return Format::kFatbin;
  if (is_windows_program(head)) return Format::kPe;
  return is_ptx(head) ? Format::kPtx : Format::kNone;
}

/// The dynamic segment, which lies behind all GPU code: its place stands at the start of the file.
void want_dynamic_segment(Bytes head, KeptSource& kept) {
  constexpr std::uint64_t kHeaderSize = 56;
  Reader header(head, 32);
  const std::uint64_t at = header.u64();
  header.skip(16);
  const std::uint16_t count = header.u16();
  if (!is_elf(head) || !header.ok()) return;
  for (std::uint64_t i = 0; i < count; ++i) {
    if (!within(at, (i + 1) * kHeaderSize, head.size())) return;
    Reader segment(head, at + i * kHeaderSize);
    const std::uint32_t type = segment.u32();
    segment.skip(4);
    const std::uint64_t offset = segment.u64();
    segment.skip(16);
    const std::uint64_t size = segment.u64();
    if (type == kSegmentDynamic && size < kMostDynamic) kept.want(offset, size);
  }
}

/// The binary's bytes at random, and what the search found.
struct Bench {
  const Content& content;
  KeptSource kept;
  CodeSearch::Found found;

  explicit Bench(const Content& c) : content(c), kept(c.size()) {}
  const Source& source() const { return content.source() != nullptr ? *content.source() : kept; }

  Result<void> first_pass() {
    CodeSearch search(content.size());
    const bool at_random = content.source() != nullptr;
    if (!at_random) {
      kept.want(0, kKeptHead);
      kept.want(content.size() - std::min(content.size(), kKeptTail), kKeptTail);
      if (const auto head = content.head(kHeadSize)) want_dynamic_segment(*head, kept);
    }
    auto passed = content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
      kept.feed(at, chunk);
      if (auto fed = search.feed(at, chunk); !fed) return tl::unexpected(fed.error());
      return at_random ? search.wanted() : at + chunk.size();
    });
    if (!passed) return passed;
    auto finished = search.finish();
    if (!finished) return tl::unexpected(finished.error());
    found = std::move(*finished);
    return {};
  }
  Result<void> next_pass() {
    if (auto wanted = kept.want_missed(); !wanted) return wanted;
    return content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
      kept.feed(at, chunk);
      return at + chunk.size() >= kept.end() ? content.size() : at + chunk.size();
    });
  }
};

std::string machine_of(std::uint16_t machine) {
  if (machine == kMachineX86_64) return "x86_64";
  if (machine == kMachineAarch64) return "aarch64";
  return fmt::format("machine {}", machine);
}

void add_cubin(Binary& binary, const Cubin& cubin, std::uint64_t offset, std::uint64_t size, bool bare) {
  const CudaVersion toolkit = cubin.toolkit_major * 1000 + cubin.toolkit_minor * 10;
  Container container{.offset = offset, .usual_section = !bare, .image = offset, .image_size = size};
  container.entries.push_back({.kind = CodeEntry::Kind::kSass, .target = cubin.target, .toolkit = toolkit});
  binary.containers.push_back(std::move(container));
  if (binary.toolkit == 0) binary.toolkit = toolkit;
}

void fill_cubin(const Source& source, const Elf& elf, Binary& binary) {
  binary.kind = BinaryKind::kCubin;
  const auto cubin = read_cubin(source, elf);
  if (!cubin) {
    binary.error = cubin.error().message;
    return;
  }
  add_cubin(binary, *cubin, 0, source.size(), false);
  for (const CubinKernel& k : cubin->kernels)
    binary.kernels.push_back(
        {k.name, k.registers, k.stack_bytes, k.static_shared_bytes, k.max_threads, k.exact_threads});
}

void add_bare_cubins(const Bench& bench, const std::vector<GpuSection>& sections, Binary& binary) {
  for (const BareCubin& bare : bench.found.cubins) {
    const bool in_section = std::any_of(sections.begin(), sections.end(), [&](const GpuSection& s) {
      return bare.offset >= s.offset && bare.offset - s.offset < s.size;
    });
    if (in_section) continue;
    const PartSource source(bench.source(), bare.offset, bare.size);
    const auto elf = read_elf(source);
    const auto cubin = elf ? read_cubin(source, *elf) : tl::unexpected(elf.error());
    if (cubin) {
      add_cubin(binary, *cubin, bare.offset, bare.size, true);
    } else {
      ++binary.doubtful;
    }
  }
}

void note(Binary& binary, const Result<void>& result) {
  if (!result && binary.error.empty()) binary.error = result.error().message;
}

/// Fills the binary but for its fat binaries; gives the sections that have those.
std::vector<GpuSection> fill_elf(const Bench& bench, Binary& binary) {
  const Source& source = bench.source();
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
  add_bare_cubins(bench, sections, binary);
  return sections;
}

std::vector<GpuSection> fill_pe(const Bench& bench, Binary& binary) {
  binary.kind = BinaryKind::kPe;
  binary.windows = true;
  const auto pe = read_pe(bench.source());
  if (!pe) {
    binary.error = pe.error().message;
    return {};
  }
  binary.machine = pe->machine == kPeX86_64 ? "amd64" : pe->machine == kPeArm64 ? "arm64" : "another machine";
  for (const PeCollector collect : pe_collectors()) note(binary, collect(bench.source(), *pe, binary));
  std::vector<GpuSection> sections;
  for (const PeSection& s : pe->sections)
    if ((s.name == ".nv_fatb" || s.name == "__nv_rel") && s.size > 0)
      sections.push_back({s.offset, s.size, s.name == "__nv_rel"});
  add_bare_cubins(bench, sections, binary);
  return sections;
}

Result<Binary> read_program(const Content& content, const std::string& path, Format format) {
  Bench bench(content);
  if (auto passed = bench.first_pass(); !passed) return tl::unexpected(passed.error());
  for (int pass = 1;; ++pass) {
    Binary binary{.path = path, .size = content.size()};
    const auto sections = format == Format::kPe ? fill_pe(bench, binary) : fill_elf(bench, binary);
    if (!bench.kept.missed()) {
      note(binary, add_gpu_code(content, sections, bench.found, binary));
      return binary;
    }
    if (pass == kMostPasses) return malformed("tables spread over the whole file", 0);
    if (auto passed = bench.next_pass(); !passed) return tl::unexpected(passed.error());
  }
}

Result<Binary> read_fatbin_file(const Content& content, const std::string& path) {
  Binary binary{.path = path, .kind = BinaryKind::kFatbin, .size = content.size()};
  const auto containers = read_section(content, {0, content.size(), false});
  if (!containers) {
    binary.error = containers.error().message;
    return binary;
  }
  for (const FatbinContainer& c : *containers) binary.containers.push_back(to_container(c, false, 0));
  return binary;
}

Result<Binary> read_ptx_file(const Content& content, const std::string& path) {
  Binary binary{.path = path, .kind = BinaryKind::kPtx, .size = content.size()};
  const auto head = content.head(kMostPtxHead);
  if (!head) return tl::unexpected(head.error());
  const auto ptx = read_ptx(*head);
  if (!ptx) {
    binary.error = ptx.error().message;
    return binary;
  }
  Container container{.image_size = content.size()};
  container.entries.push_back(
      {.kind = CodeEntry::Kind::kPtx, .target = ptx->target, .ptx_isa = ptx->isa_major * 10 + ptx->isa_minor});
  binary.containers.push_back(std::move(container));
  return binary;
}

Result<Binary> read_one(const Content& content, const std::string& path, Format format) {
  if (format == Format::kFatbin) return read_fatbin_file(content, path);
  if (format == Format::kPtx) return read_ptx_file(content, path);
  return read_program(content, path, format);
}

Result<std::vector<Binary>> read_archive_members(const Source& source, const std::string& path) {
  const auto members = read_archive(source);
  if (!members)
    return std::vector<Binary>{{.path = path, .kind = BinaryKind::kObject, .error = members.error().message}};
  std::vector<Binary> binaries;
  for (const ArchiveMember& member : *members) {
    const PartSource part(source, member.offset, member.size);
    const SourceContent content(part);
    const auto head = content.head(kHeadSize);
    const Format format = head ? format_of(*head) : Format::kNone;
    if (format == Format::kNone || format == Format::kArchive) continue;
    auto binary = read_one(content, (path.empty() ? "" : path + "!") + member.name, format);
    if (!binary) return tl::unexpected(binary.error());
    binaries.push_back(std::move(*binary));
  }
  return binaries;
}

}  // namespace

bool may_be_binary(Bytes head) { return format_of(head) != Format::kNone; }

Result<std::vector<Binary>> read_binaries(const Content& content, const std::string& path) {
  const auto head = content.head(kHeadSize);
  if (!head) return tl::unexpected(head.error());
  const Format format = format_of(*head);
  if (format == Format::kNone) return std::vector<Binary>{};
  if (format == Format::kArchive) {
    if (content.source() != nullptr) return read_archive_members(*content.source(), path);
    const auto spool = Spool::make(content);
    if (!spool) return tl::unexpected(spool.error());
    return read_archive_members(spool->source(), path);
  }
  auto binary = read_one(content, path, format);
  if (!binary) return tl::unexpected(binary.error());
  std::vector<Binary> binaries;
  binaries.push_back(std::move(*binary));
  return binaries;
}

}  // namespace flashfit::inspect
