#pragma once
// ELF files of any soundness: a library that needs others, and a cubin with one kernel.
#include <string>
#include <vector>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::test {

struct MadeSection {
  std::string name;
  std::uint32_t type = 1, link = 0, info = 0;
  std::vector<std::byte> content = {};
  std::uint64_t size = 0;  ///< of a section without bits
};

struct MadeElf {
  std::uint16_t type = 3, machine = 62;
  std::uint8_t os_abi = 0, abi_version = 0;
  std::uint32_t version = 1, flags = 0;
  std::vector<MadeSection> sections;  ///< the second of the file on: an empty one comes first, their names last
  /// Segments {type, flags, section}; section 0: the whole file. Addresses are offsets.
  struct Segment {
    std::uint32_t type, flags;
    std::size_t section;
  };
  std::vector<Segment> segments;
  bool section_table = true;  ///< false: as strippers leave it, with segments alone

  /// The offset of a section's content, by its index in the file.
  std::size_t offset(std::size_t section) const;
  std::vector<std::byte> bytes() const;
};

/// libmade.so: needs libc.so.6 (GLIBC_2.34, for `old_need`), defines `own`; carries `fatbin` in .nv_fatbin.
MadeElf make_library(Bytes fatbin = {}, bool executable_stack = false);

/// A cubin with the kernel "k": 40 registers, 64 bytes of stack, 2048 bytes of shared memory, at most 256 threads.
/// `options`: of the tool that made it ("-arch sm_100f"), in ABI 8.
MadeElf make_cubin(std::uint8_t abi, std::uint32_t flags, const std::string& options = "");

}  // namespace flashfit::doctor::test
