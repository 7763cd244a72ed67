// Images that no reader sees, as a library packs them in its own way: it may say in a note what they are for. The
// grammar is in docs/images.md, "The index for other readers"; flashfit's own library has such a note.
#include <algorithm>
#include <charconv>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/binaries/elf_notes.hpp"
#include "doctor/facts/all_collectors.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::string_view kSection = ".note.gpu_images", kOwner = "gpu-images";
constexpr std::uint32_t kType = 1;
constexpr std::uint64_t kMostBytes = 1 << 16;
constexpr std::size_t kMostUnits = 1024, kMostTargets = 64, kLongestName = 100;

/// "12.9" -> 129, as CUDA's tools count; nothing for other texts.
std::optional<int> decimal(std::string_view text) {
  const std::size_t dot = text.find('.');
  int major = 0, minor = 0;
  if (dot == std::string_view::npos || dot == 0 || dot > 2 || text.size() != dot + 2 || !is_digit(text[0]) ||
      !is_digit(text.back()))
    return std::nullopt;
  const std::string_view whole = text.substr(0, dot);
  const auto [end, error] = std::from_chars(whole.data(), whole.data() + whole.size(), major);
  if (error != std::errc() || end != whole.data() + whole.size()) return std::nullopt;
  minor = text.back() - '0';
  return major * 10 + minor;
}

/// "9.0", "9.0a", "10.0f+PTX".
std::optional<CodeEntry> entry_of(std::string_view word) {
  constexpr std::string_view kPtx = "+PTX";
  CodeEntry entry;
  if (word.ends_with(kPtx)) {
    entry.kind = CodeEntry::Kind::kPtx;
    word.remove_suffix(kPtx.size());
  }
  if (word.ends_with('a') || word.ends_with('f')) {
    entry.target.scope = word.back() == 'a' ? TargetScope::kArchitecture : TargetScope::kFamily;
    word.remove_suffix(1);
  }
  const auto cc = decimal(word);
  if (!cc) return std::nullopt;
  entry.target.architecture = *cc;
  return entry;
}

class NoteText {
 public:
  NoteText(std::uint64_t offset, Binary& binary) : offset_(offset), binary_(binary) {}

  Result<void> read(std::string_view text) {
    for (const std::string_view line : split(text, '\n')) {
      if (line.empty()) continue;
      const std::size_t colon = line.find(':');
      if (colon == std::string_view::npos ? !take_version(line)
                                          : !take_unit(line.substr(0, colon), line.substr(colon + 1)))
        return malformed(fmt::format("line '{}' of the index of GPU images", printable(line, kLongestName)), offset_);
    }
    return {};
  }

 private:
  bool take_version(std::string_view line) {
    const std::size_t space = line.find(' ');
    const auto version = space == std::string_view::npos ? std::nullopt : decimal(line.substr(space + 1));
    if (!version) return false;
    if (line.starts_with("toolkit ")) toolkit_ = *version / 10 * 1000 + *version % 10 * 10;
    if (line.starts_with("ptx ")) ptx_isa_ = *version;
    if (toolkit_ != 0) binary_.toolkit = toolkit_;
    return true;  // later versions of the grammar may say more
  }

  bool take_unit(std::string_view name, std::string_view targets) {
    if (name.size() > kLongestName || binary_.containers.size() == kMostUnits) return false;
    Container container{.offset = offset_};
    for (const std::string_view word : split(targets, ' ')) {
      if (word.empty()) continue;
      auto entry = entry_of(word);
      if (!entry || container.entries.size() == kMostTargets) return false;
      (entry->kind == CodeEntry::Kind::kPtx ? entry->ptx_isa : entry->toolkit) =
          entry->kind == CodeEntry::Kind::kPtx ? ptx_isa_ : toolkit_;
      container.entries.push_back(*entry);
    }
    if (container.entries.empty()) return false;
    container.kernels = {printable(name)};
    binary_.containers.push_back(std::move(container));
    return true;
  }

  std::uint64_t offset_;
  Binary& binary_;
  CudaVersion toolkit_ = 0;
  int ptx_isa_ = 0;
};

}  // namespace

Result<void> collect_image_note(const Source& source, const Elf& elf, Binary& binary) {
  const ElfSection* const section = elf.find(kSection);
  if (section == nullptr) return {};
  const auto bytes = read_section(source, *section, kMostBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto notes = read_elf_notes(*bytes, section->offset);
  if (!notes) return tl::unexpected(notes.error());
  for (const ElfNote& note : *notes)
    if (note.owner == kOwner && note.type == kType)
      if (auto read = NoteText(section->offset, binary).read(as_text(note.content)); !read) return read;
  return {};
}

}  // namespace flashfit::doctor
