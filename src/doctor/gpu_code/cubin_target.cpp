#include "doctor/gpu_code/cubin_target.hpp"

#include <charconv>

#include "doctor/binaries/elf_notes.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint8_t kAbi7 = 7;
constexpr std::uint32_t kAbi7Architecture = 0x800, kAbi8Architecture = 0x8;
constexpr std::uint64_t kMostNoteBytes = 1 << 16;
/// Record of .nv.compat that toolkits from 13.0 on write for "a" targets.
constexpr std::string_view kCompatArchitecture("\x02\x09\x01", 3);

/// A release that no toolkit can have is none: the numbers are the file's, and a version is counted in thousands.
void set_toolkit(std::uint32_t major, std::uint32_t minor, Cubin& cubin) {
  constexpr std::uint32_t kMost = 99;
  if (major > kMost || minor > kMost) return;
  cubin.toolkit_major = static_cast<int>(major);
  cubin.toolkit_minor = static_cast<int>(minor);
}

/// "release 12.9, V12.9.86"
void read_release(std::string_view text, Cubin& cubin) {
  constexpr std::string_view kWord = "release ";
  const std::size_t at = text.find(kWord);
  if (at == std::string_view::npos) return;
  const char* const end = text.data() + text.size();
  std::uint32_t major = 0, minor = 0;
  const auto first = std::from_chars(text.data() + at + kWord.size(), end, major);
  if (first.ec != std::errc() || first.ptr == end || *first.ptr != '.') return;
  if (std::from_chars(first.ptr + 1, end, minor).ec != std::errc()) return;
  set_toolkit(major, minor, cubin);
}

/// The tool's own words: its release, and the options that it was called with. True if they name the target.
Result<bool> read_tool_info(const Source& source, const Elf& elf, Cubin& cubin) {
  const ElfSection* section = elf.find(".note.nv.tkinfo");
  if (section == nullptr) return false;
  const auto bytes = read_section(source, *section, kMostNoteBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  const auto notes = read_elf_notes(*bytes, section->offset);
  if (!notes) return tl::unexpected(notes.error());
  bool named = false;
  for (const ElfNote& note : *notes) {
    const std::string_view text = as_text(note.content);
    read_release(text, cubin);
    constexpr std::string_view kOption = "-arch ";
    const std::size_t at = text.find(kOption);
    const auto target =
        at == std::string_view::npos ? std::nullopt : parse_gpu_target(text.substr(at + kOption.size()));
    if (!target || target->architecture != cubin.target.architecture) continue;
    cubin.target.scope = target->scope;
    named = true;
  }
  return named;
}

/// Whether .nv.compat holds the record of an "a" target; its records are {format, attribute, value, 0}.
Result<bool> says_architecture(const Source& source, const Elf& elf) {
  const ElfSection* section = elf.find(".nv.compat");
  if (section == nullptr) return false;
  const auto bytes = read_section(source, *section, kMostNoteBytes);
  if (!bytes) return tl::unexpected(bytes.error());
  for (Reader reader(*bytes); reader.left() >= 4;)
    if (as_text(reader.take(4)).starts_with(kCompatArchitecture)) return true;
  return false;
}

}  // namespace

Result<void> read_cubin_target(const Source& source, const Elf& elf, Cubin& cubin) {
  cubin.abi = elf.abi_version;
  const bool old = elf.abi_version <= kAbi7;
  cubin.target.architecture = static_cast<int>(old ? elf.flags & 0xff : (elf.flags >> 8) & 0xff);
  if (cubin.target.architecture == 0) return malformed("architecture of a cubin", 48);
  if (old) set_toolkit(elf.version / 10, elf.version % 10, cubin);  // 0x81 is 12.9
  const bool flagged = (elf.flags & (old ? kAbi7Architecture : kAbi8Architecture)) != 0;
  if (flagged) cubin.target.scope = TargetScope::kArchitecture;
  if (old) return {};
  const auto named = read_tool_info(source, elf, cubin);
  if (!named) return tl::unexpected(named.error());
  if (*named) return {};
  const auto compat = says_architecture(source, elf);
  if (!compat) return tl::unexpected(compat.error());
  if (*compat) cubin.target.scope = TargetScope::kArchitecture;
  return {};
}

}  // namespace flashfit::doctor
