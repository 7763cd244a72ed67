#pragma once
// Zip archives of any soundness.
#include <string>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::test {

struct MadeMember {
  std::string name;
  std::string content;
  bool deflated = true;
  bool sizes_follow = false;  ///< a data descriptor behind the data, zeros in the local header
};

struct MadeZip {
  std::vector<std::byte> bytes;
  std::vector<std::size_t> local, central;  ///< where each member's headers lie
  std::size_t directory = 0, end = 0;       ///< of the directory, of the end record
};

/// `wide`: with the records and fields of zip64, though nothing needs them.
MadeZip make_zip(const std::vector<MadeMember>& members, bool wide = false);

}  // namespace flashfit::doctor::test
