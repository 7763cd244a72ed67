#pragma once
// The symbol versions that an ELF library defines: what others' ElfVersionNeed is matched against.
#include <string_view>
#include <vector>

#include "doctor/binaries/elf.hpp"

namespace flashfit::doctor {

struct ElfVersionDefinition {
  std::string_view version;  ///< lies in ElfVersionDefinitions::names
  std::uint16_t index = 0;   ///< ElfSymbol::version of the symbols that have it
  bool base = false;         ///< the library's own name, which comes first
};

struct ElfVersionDefinitions {
  std::vector<ElfVersionDefinition> list;
  StringTable names;
};

/// By the dynamic segment, as the loader reads them; empty if there are none, and then the loader takes the library for
/// one that has every version. Errors: malformed; more than 64 KB of definitions, 128 MB of names.
Result<ElfVersionDefinitions> read_elf_version_definitions(const Source& source, const Elf& elf);

}  // namespace flashfit::doctor
