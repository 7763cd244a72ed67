// Names of kernels, read where a container lacks an image: a second pass over a deflated member.
#include <algorithm>
#include <array>

#include "core/base/ascii.hpp"
#include "doctor/bytes/kept_source.hpp"
#include "doctor/facts/add_kernel_names.hpp"
#include "doctor/facts/read_binary.hpp"
#include "doctor/gpu_code/cubin.hpp"
#include "doctor/gpu_code/fatbin_payload.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kLargestImage = std::uint64_t{32} << 20;

std::vector<std::string> names_in_cubin(const Source& source) {
  const auto elf = read_elf(source);
  const auto cubin = elf ? read_cubin(source, *elf) : tl::unexpected(elf.error());
  std::vector<std::string> names;
  if (!cubin) return names;
  for (const CubinKernel& k : cubin->kernels)
    if (names.size() < kMostKernelNames) names.push_back(k.name);
  return names;
}

/// The words behind ".entry".
std::vector<std::string> names_in_ptx(std::string_view text) {
  constexpr std::string_view kEntry = ".entry";
  std::vector<std::string> names;
  for (std::size_t at = text.find(kEntry); at != std::string_view::npos && names.size() < kMostKernelNames;
       at = text.find(kEntry, at + kEntry.size())) {
    std::string_view rest = trimmed(text.substr(at + kEntry.size(), 4096));
    const auto* const end =
        std::find_if(rest.begin(), rest.end(), [](char c) { return !is_alnum(c) && c != '_' && c != '$'; });
    if (end != rest.begin()) names.emplace_back(rest.begin(), end);
  }
  return names;
}

std::vector<std::string> names_in_entry(const Source& source) {
  const auto start = read_part(source, 0, 8, 8, "entry");
  const auto size = start ? read_entry_header_size(*start, 0) : tl::unexpected(start.error());
  const auto header =
      size ? read_part(source, 0, *size, kFatbinMostEntryHeader, "entry") : tl::unexpected(size.error());
  const auto entry = header ? read_entry(*header, 0) : tl::unexpected(header.error());
  const auto image = entry ? read_image(source, *entry, kLargestImage) : tl::unexpected(entry.error());
  if (!image) return {};
  return entry->kind == FatbinKind::kPtx ? names_in_ptx(as_text(*image)) : names_in_cubin(MemorySource(*image));
}

std::vector<std::string> names_of(const Source& whole, const Binary& binary, const Container& container) {
  const PartSource source(whole, container.image, container.image_size);
  if (binary.kind == BinaryKind::kPtx) {
    const auto text = read_part(source, 0, source.size(), kLargestImage, "PTX");
    return text ? names_in_ptx(as_text(*text)) : std::vector<std::string>{};
  }
  std::array<std::byte, 4> magic{};
  if (source.read(0, magic) && is_elf(magic)) return names_in_cubin(source);
  return names_in_entry(source);
}

}  // namespace

Result<void> read_kernel_names(const Content& content, Binary& binary, const std::vector<std::size_t>& which) {
  KeptSource kept(content.size());
  const auto sound = [&](const Container& c) {
    return c.image_size <= kLargestImage && within(c.image, c.image_size, content.size());
  };
  if (content.source() == nullptr) {
    for (const std::size_t i : which)
      if (sound(binary.containers[i])) kept.want(binary.containers[i].image, binary.containers[i].image_size);
    const auto passed = content.read_through([&](std::uint64_t at, Bytes chunk) -> Result<std::uint64_t> {
      kept.feed(at, chunk);
      return at + chunk.size() >= kept.end() ? content.size() : at + chunk.size();
    });
    if (!passed) return passed;
  }
  const Source& source = content.source() != nullptr ? *content.source() : kept;
  for (const std::size_t i : which)
    if (Container& c = binary.containers[i]; sound(c)) c.kernels = names_of(source, binary, c);
  return {};
}

}  // namespace flashfit::doctor
