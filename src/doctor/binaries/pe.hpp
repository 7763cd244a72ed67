#pragma once
// PE32+ (Windows' 64-bit .dll, .pyd and .exe): sections and imports.
#include <string>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

inline constexpr std::uint16_t kPeX86_64 = 0x8664, kPeArm64 = 0xaa64;

struct PeSection {
  std::string name;                    ///< at most eight bytes: ".nv_fatb" is .nv_fatbin
  std::uint32_t address = 0;           ///< relative to the image
  std::uint32_t size_in_memory = 0;    ///< bytes used; the rest of `size` is padding
  std::uint32_t offset = 0, size = 0;  ///< in the file
};

struct PeImport {
  std::string library;                 ///< "KERNEL32.dll"
  std::vector<std::string> functions;  ///< "#7" where imported by ordinal
  bool delayed = false;                ///< loaded at the first call, not with the file
};

struct Pe {
  std::uint16_t machine = 0;
  bool library = false;  ///< a DLL (.pyd is one), not a program
  std::vector<PeSection> sections;
  std::vector<PeImport> imports;
};

/// Whether the first bytes are those of a program of DOS's line; read_pe knows the rest.
bool is_pe(Bytes head);

/// Errors: malformed (32-bit files among them); more than 4,096 libraries, 262,144 functions or 16 MB of names.
Result<Pe> read_pe(const Source& source);

}  // namespace flashfit::doctor
