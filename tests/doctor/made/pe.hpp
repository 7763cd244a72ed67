#pragma once
// Small 64-bit DLLs.
#include <string>
#include <vector>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::test {

struct MadeDll {
  struct Import {
    std::string library;
    std::vector<std::string> functions;
  };
  std::uint16_t machine = 0x8664;
  std::vector<Import> imports = {};
  std::vector<std::byte> gpu_code = {};  ///< containers, for .nv_fatb

  std::vector<std::byte> bytes() const;
};

/// Imports "one" and ordinal 7 of a.dll, and, delayed, "two" of b.dll; carries `fatbin` in .nv_fatb.
std::vector<std::byte> make_dll(Bytes fatbin = {});

}  // namespace flashfit::doctor::test
