#pragma once
// Symbols of an ELF file, and the symbol versions that it needs of other libraries.
#include <string_view>
#include <vector>

#include "doctor/binaries/elf.hpp"

namespace flashfit::doctor {

struct ElfSymbol {
  std::string_view name;  ///< lies in ElfSymbols::names
  std::uint64_t value = 0, size = 0;
  std::uint16_t section = 0;  ///< 0: undefined, to be found elsewhere
  std::uint8_t type = 0, binding = 0, other = 0;
  std::uint16_t version = 0;  ///< index of its version, as in ElfVersionNeed; 0 and 1: none

  bool defined() const { return section != 0; }
  bool weak() const { return binding == 2; }
  bool function() const { return type == 2; }
};

struct ElfSymbols {
  std::vector<ElfSymbol> list;  ///< in the order of the file, so that relocations' indices hold; the first is empty
  StringTable names;
};

/// A version that some library must provide: "GLIBC_2.34" of "libc.so.6".
struct ElfVersionNeed {
  std::string_view library, version;  ///< lie in ElfVersionNeeds::names
  std::uint16_t index = 0;            ///< ElfSymbol::version of the symbols that need it
  bool weak = false;                  ///< the loader only warns where it is absent
};

struct ElfVersionNeeds {
  std::vector<ElfVersionNeed> list;
  StringTable names;
};

/// The dynamic symbols with their versions (kSectionDynamicSymbols), or those of an object (kSectionSymbols). Empty if
/// there is no such section. Of a file without a section table, the dynamic segment says where the dynamic ones are.
/// Errors: malformed; more than 64 MB of symbols (2.8 million) or 128 MB of names.
Result<ElfSymbols> read_elf_symbols(const Source& source, const Elf& elf, std::uint32_t section_type);

/// Errors: malformed; more than 65,536 versions.
Result<ElfVersionNeeds> read_elf_version_needs(const Source& source, const Elf& elf);

}  // namespace flashfit::doctor
