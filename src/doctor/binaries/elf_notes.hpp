#pragma once
// Note sections: small records with an owner's name.
#include <string_view>
#include <vector>

#include "doctor/bytes/bytes.hpp"

namespace flashfit::doctor {

struct ElfNote {
  std::string_view owner;  ///< "GNU", "NVIDIA Corp"
  std::uint32_t type = 0;
  Bytes content;
};

/// The notes of one section's content, of which they are views; `offset` is the section's, for errors.
Result<std::vector<ElfNote>> read_elf_notes(Bytes section, std::uint64_t offset);

}  // namespace flashfit::doctor
