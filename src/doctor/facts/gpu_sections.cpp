#include "doctor/facts/gpu_sections.hpp"

#include <algorithm>
#include <iterator>
#include <utility>

#include "doctor/gpu_code/cubin.hpp"
#include "doctor/gpu_code/cubin_target.hpp"
#include "doctor/gpu_code/fatbin_payload.hpp"

namespace flashfit::doctor {
namespace {

/// Less than a container's header hides nothing.
constexpr std::uint64_t kHarmlessGap = 16;

bool inside(const FatbinContainer& c, const GpuSection& s) {
  return c.offset >= s.offset && c.offset + c.size <= s.offset + s.size;
}

bool covered(const GpuSection& section, const std::vector<FatbinContainer>& containers) {
  std::uint64_t at = section.offset;
  for (const FatbinContainer& c : containers) {
    if (!inside(c, section)) continue;
    if (c.offset - at >= kHarmlessGap) return false;
    at = c.offset + c.size;
  }
  return section.offset + section.size - at < kHarmlessGap;
}

CodeEntry to_entry(const FatbinEntry& e, bool relocatable, CudaVersion toolkit) {
  CodeEntry entry;
  entry.target.architecture = static_cast<int>(std::min<std::uint32_t>(e.architecture, 9999));
  if ((e.flags & kFatbinArchitectureTarget) != 0) entry.target.scope = TargetScope::kArchitecture;
  if ((e.flags & kFatbinFamilyTarget) != 0) entry.target.scope = TargetScope::kFamily;
  entry.zstd = e.compressed != 0 && (e.flags & kFatbinZstd) != 0;
  entry.relocatable = relocatable;
  if (e.kind == FatbinKind::kPtx) {
    entry.kind = CodeEntry::Kind::kPtx;
    entry.ptx_isa = e.major * 10 + e.minor;
  } else {
    entry.toolkit = toolkit;
  }
  return entry;
}

}  // namespace

Container to_container(const FatbinContainer& container, bool relocatable, CudaVersion toolkit) {
  Container to{.offset = container.offset, .relocatable = relocatable};
  std::uint64_t end_of_last = container.offset + kFatbinHeaderSize;
  bool machine_code = false;
  for (const FatbinEntry& e : container.entries) {
    const std::uint64_t header = std::exchange(end_of_last, e.offset + e.size);
    const bool lto = (e.flags & kFatbinLto) != 0;
    if (lto || (e.kind != FatbinKind::kPtx && e.kind != FatbinKind::kElf)) {
      ++to.unread;
      continue;
    }
    to.entries.push_back(to_entry(e, relocatable, toolkit));
    // Names come from machine code if there is any, from the smallest.
    const bool elf = e.kind == FatbinKind::kElf;
    const std::uint64_t whole = end_of_last - header;
    if (to.image_size == 0 || (elf && !machine_code) || (elf == machine_code && whole < to.image_size)) {
      to.image = header;
      to.image_size = whole;
    }
    machine_code |= elf;
  }
  return to;
}

CudaVersion toolkit_of(const CodeSearch::Found& found) {
  if (!found.sample) return 0;
  const auto image = read_image(MemorySource(found.payload), *found.sample);
  if (!image) return 0;
  const MemorySource source(*image);
  const auto elf = read_elf(source);
  Cubin cubin;
  if (!elf || !read_cubin_target(source, *elf, cubin)) return 0;
  return cubin.toolkit();
}

Result<std::vector<FatbinContainer>> read_section(const Content& content, const GpuSection& section) {
  FatbinScanner scanner(section.offset, section.offset + section.size, FatbinScanner::Mode::kSection);
  const auto passed = content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
    if (auto fed = scanner.feed(at, chunk); !fed) return tl::unexpected(fed.error());
    if (content.source() != nullptr)
      if (auto passed = scanner.pass_zeros(content.source()->next_data(scanner.wanted())); !passed)
        return tl::unexpected(passed.error());
    return scanner.wanted() >= section.offset + section.size ? content.size() : scanner.wanted();
  });
  if (!passed) return tl::unexpected(passed.error());
  return scanner.finish();
}

Result<void> add_gpu_code(const Content& content, const std::vector<GpuSection>& sections, CodeSearch::Found& found,
                          Binary& binary) {
  // Bare cubins may have said theirs.
  if (const CudaVersion toolkit = toolkit_of(found); toolkit != 0) binary.toolkit = toolkit;
  binary.doubtful += found.doubtful;
  binary.cudart = found.cudart;
  Result<void> result;
  std::vector<FatbinContainer> in_sections;
  for (const GpuSection& section : sections) {
    std::vector<FatbinContainer> here;
    if (covered(section, found.containers)) {
      std::copy_if(found.containers.begin(), found.containers.end(), std::back_inserter(here),
                   [&](const FatbinContainer& c) { return inside(c, section); });
    } else {
      auto read = read_section(content, section);
      if (!read) {
        result = tl::unexpected(read.error());
        continue;
      }
      here = std::move(*read);
    }
    for (const FatbinContainer& c : here)
      binary.containers.push_back(to_container(c, section.relocatable, binary.toolkit));
  }
  // What lies elsewhere; a container that reaches into a section is a forgery or a part of one that was read above.
  for (const FatbinContainer& c : found.containers) {
    const bool touches = std::any_of(sections.begin(), sections.end(), [&](const GpuSection& s) {
      return c.offset < s.offset + s.size && s.offset < c.offset + c.size;
    });
    if (touches) continue;
    binary.containers.push_back(to_container(c, false, binary.toolkit));
    binary.containers.back().usual_section = false;
  }
  return result;
}

}  // namespace flashfit::doctor
