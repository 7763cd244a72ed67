#include "doctor/facts/read_binary.hpp"

#include "doctor/binaries/mach_o.hpp"
#include "doctor/bytes/spool.hpp"
#include "doctor/bytes/static_library.hpp"
#include "doctor/facts/gpu_sections.hpp"
#include "doctor/facts/read_program.hpp"
#include "doctor/gpu_code/ptx.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMostPtxHead = std::uint64_t{64} << 10;

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

Result<Binary> read_mach_o_file(const Content& content, const std::string& path) {
  const auto head = content.head(kHeadSize);
  if (!head) return tl::unexpected(head.error());
  return Binary{.path = path,
                .kind = BinaryKind::kMachO,
                .size = content.size(),
                .machine = std::string(mach_o_machine(*head).value_or(""))};
}

Result<Binary> read_one(const Content& content, const std::string& path, BinaryFormat format) {
  if (format == BinaryFormat::kFatbin) return read_fatbin_file(content, path);
  if (format == BinaryFormat::kPtx) return read_ptx_file(content, path);
  if (format == BinaryFormat::kMachO) return read_mach_o_file(content, path);
  return format == BinaryFormat::kPe ? read_pe_program(content, path) : read_elf_program(content, path);
}

Result<std::vector<Binary>> read_archive_members(const Source& source, const std::string& path, FactsBudget& budget) {
  const auto members = read_archive(source);
  if (!members)
    return std::vector<Binary>{{.path = path, .kind = BinaryKind::kObject, .error = members.error().message}};
  std::vector<Binary> binaries;
  for (const ArchiveMember& member : *members) {
    const PartSource part(source, member.offset, member.size);
    const SourceContent content(part);
    const auto head = content.head(kHeadSize);
    const BinaryFormat format = head ? binary_format_of(*head) : BinaryFormat::kNone;
    if (format == BinaryFormat::kNone || format == BinaryFormat::kArchive) continue;
    auto binary = read_one(content, (path.empty() ? "" : path + "!") + member.name, format);
    if (!binary) return tl::unexpected(binary.error());
    binary->archive = path;
    binary->archive_offset = member.offset;
    if (auto kept = budget.take(*binary, member.offset); !kept) return tl::unexpected(kept.error());
    binaries.push_back(std::move(*binary));
  }
  return binaries;
}

}  // namespace

Result<std::vector<Binary>> read_binaries(const Content& content, const std::string& path, FactsBudget& budget) {
  const auto head = content.head(kHeadSize);
  if (!head) return tl::unexpected(head.error());
  const BinaryFormat format = binary_format_of(*head);
  if (format == BinaryFormat::kNone) return std::vector<Binary>{};
  if (format == BinaryFormat::kArchive) {
    if (content.source() != nullptr) return read_archive_members(*content.source(), path, budget);
    const auto spool = Spool::make(content);
    if (!spool) return tl::unexpected(spool.error());
    return read_archive_members(spool->source(), path, budget);
  }
  auto binary = read_one(content, path, format);
  if (!binary) return tl::unexpected(binary.error());
  if (auto kept = budget.take(*binary, 0); !kept) return tl::unexpected(kept.error());
  std::vector<Binary> binaries;
  binaries.push_back(std::move(*binary));
  return binaries;
}

}  // namespace flashfit::doctor
