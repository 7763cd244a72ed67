#pragma once
// Static archives (ar), with the long names of GNU and of BSD; a Windows .lib is one too.
#include <string>
#include <vector>

#include "doctor/bytes/source.hpp"

namespace flashfit::doctor {

struct ArchiveMember {
  std::string name;
  std::uint64_t offset = 0, size = 0;  ///< of the content, for PartSource; offsets are even, not more aligned
};

/// Whether the first eight bytes open an archive.
bool is_archive(Bytes head);

/// The members without symbol tables and tables of names. Errors: malformed (thin archives among them, whose members
/// lie in other files); more than 262,144 members.
Result<std::vector<ArchiveMember>> read_archive(const Source& source);

}  // namespace flashfit::doctor
