#pragma once
// The entries of the dynamic segment, as elf_dynamic.hpp and elf_symbols.hpp read them.
#include <optional>
#include <vector>

#include "doctor/binaries/elf.hpp"

namespace flashfit::doctor {

/// DT_ tags that readers look for.
enum : std::uint64_t {
  kDynamicNull = 0,
  kDynamicNeeded = 1,
  kDynamicHash = 4,
  kDynamicTexts = 5,
  kDynamicSymbols = 6,
  kDynamicTextSize = 10,
  kDynamicSoname = 14,
  kDynamicRpath = 15,
  kDynamicTextRelocations = 22,
  kDynamicRunpath = 29,
  kDynamicFlags = 30,
  kDynamicGnuHash = 0x6ffffef5,
  kDynamicVersions = 0x6ffffff0,
  kDynamicFlags1 = 0x6ffffffb,
  kDynamicVersionDefinitions = 0x6ffffffc,
  kDynamicVersionNeeds = 0x6ffffffe,
};

struct ElfDynamicEntry {
  std::uint64_t tag = 0, value = 0;
  std::uint64_t offset = 0;  ///< of the entry in the file
};

/// Up to the entry that ends them; empty for files without a dynamic segment. Errors: malformed; more than 65,536.
Result<std::vector<ElfDynamicEntry>> read_elf_dynamic_entries(const Source& source, const Elf& elf);

/// The first entry's value; nothing if there is none of the tag.
std::optional<std::uint64_t> dynamic_value(const std::vector<ElfDynamicEntry>& entries, std::uint64_t tag);

/// Where the bytes at `address` lie in the file; nothing if no loaded segment holds them.
std::optional<std::uint64_t> offset_of_address(const Elf& elf, std::uint64_t address);

/// Where the loader finds symbols, which needs no section table. All zero: there are none.
struct ElfDynamicTables {
  std::uint64_t symbols = 0, count = 0;    ///< offset in the file; number of symbols, by the hash table
  std::uint64_t names = 0, name_size = 0;  ///< offset, bytes
  std::uint64_t versions = 0, needs = 0;   ///< offsets; 0: none
  std::uint64_t definitions = 0;           ///< the same, of the versions that it defines
};
/// Errors: malformed: addresses that lie nowhere, hash tables that say nothing.
Result<ElfDynamicTables> read_elf_dynamic_tables(const Source& source, const Elf& elf);

}  // namespace flashfit::doctor
