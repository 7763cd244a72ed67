#pragma once
// Shared libraries as linkers write them, by what they need and carry.
#include <string>
#include <vector>

#include "doctor/binaries/elf.hpp"
#include "doctor/made/elf.hpp"

namespace flashfit::doctor::test {

struct MadeImport {
  std::string name;
  std::string library = "", version = "";  ///< "libc.so.6", "GLIBC_2.34"; "": of no version
  bool weak = false;
};

struct MadeLibrary {
  std::uint16_t machine = kMachineX86_64;
  std::string soname = "", runpath = "", rpath = "";
  std::vector<std::string> needed = {};
  std::vector<MadeImport> imports = {};
  std::vector<std::string> exports = {};
  std::vector<std::string> defines = {};  ///< versions; exports have the last of them
  bool executable_stack = false;
  unsigned isa_needed = 0;               ///< bits of GNU_PROPERTY_X86_ISA_1_NEEDED: 4 is x86-64-v3; 0: no note
  std::vector<std::byte> gpu_code = {};  ///< containers, for .nv_fatbin
  std::vector<std::byte> relocatable_gpu_code = {};  ///< the same, for __nv_relfatbin
  std::vector<std::byte> data = {};                  ///< for .rodata
  bool section_table = true;
  bool gnu_hash = false;  ///< the newer hash table alone, instead of the older
  std::string interpreter = "";
  bool weak_versions = false;  ///< the needed versions' own flag, whatever their symbols are
  bool static_tls = false;     ///< DF_STATIC_TLS
  std::size_t tls_size = 0;    ///< bytes of thread-local variables

  MadeElf elf() const;
  std::vector<std::byte> bytes() const { return elf().bytes(); }
};

}  // namespace flashfit::doctor::test
