#include "doctor/binaries/elf_dynamic.hpp"

#include "doctor/binaries/elf_dynamic_entries.hpp"

namespace flashfit::doctor {
namespace {

constexpr std::uint64_t kMostText = std::uint64_t{96} << 20, kMostCopied = std::uint64_t{1} << 20;
constexpr std::uint64_t kFlagTextRelocations = 4, kFlagStaticTls = 16, kFlagNoDefaultFolders = 0x800;

Result<StringTable> read_texts(const Source& source, const Elf& elf, const std::vector<ElfDynamicEntry>& entries) {
  const std::uint64_t address = dynamic_value(entries, kDynamicTexts).value_or(0);
  const auto offset = offset_of_address(elf, address);
  if (!offset) return malformed("address of the dynamic texts", address);
  auto bytes =
      read_part(source, *offset, dynamic_value(entries, kDynamicTextSize).value_or(0), kMostText, "dynamic texts");
  if (!bytes) return tl::unexpected(bytes.error());
  return StringTable(std::move(*bytes));
}

}  // namespace

Result<ElfDynamic> read_elf_dynamic(const Source& source, const Elf& elf) {
  const auto entries = read_elf_dynamic_entries(source, elf);
  if (!entries) return tl::unexpected(entries.error());

  ElfDynamic dynamic;
  StringTable texts;
  std::uint64_t copied = 0;
  for (const auto& [tag, value, offset] : *entries) {
    if (tag == kDynamicTextRelocations) dynamic.text_relocations = true;
    if (tag == kDynamicFlags) {
      dynamic.text_relocations |= (value & kFlagTextRelocations) != 0;
      dynamic.static_tls |= (value & kFlagStaticTls) != 0;
    }
    if (tag == kDynamicFlags1) dynamic.no_default_folders |= (value & kFlagNoDefaultFolders) != 0;
    if (tag != kDynamicNeeded && tag != kDynamicSoname && tag != kDynamicRpath && tag != kDynamicRunpath) continue;
    if (!texts.at(0)) {
      auto read = read_texts(source, elf, *entries);
      if (!read) return tl::unexpected(read.error());
      texts = std::move(*read);
    }
    const auto text = texts.at(value);
    if (!text) return malformed("text of a dynamic entry", offset);
    copied += text->size();
    if (copied > kMostCopied) return beyond("length of the dynamic entries' texts", kMostCopied, offset);
    if (tag == kDynamicNeeded) dynamic.needed.emplace_back(*text);
    if (tag == kDynamicSoname) dynamic.soname = *text;
    if (tag == kDynamicRpath) dynamic.rpath = *text;
    if (tag == kDynamicRunpath) dynamic.runpath = *text;
  }
  return dynamic;
}

}  // namespace flashfit::doctor
