#pragma once
// Whole wheels: a name, metadata and members.
#include <string>
#include <vector>

#include "doctor/made/zip.hpp"

namespace flashfit::doctor::test {

struct MadeWheel {
  std::string name, version;
  std::string tag;                     ///< of the file name: "cp311-cp311-linux_x86_64"
  std::vector<std::string> tags = {};  ///< of WHEEL; none: the file name's own
  std::string requires_python = "";
  std::vector<std::string> requirements = {};  ///< Requires-Dist
  std::vector<MadeMember> members = {};        ///< METADATA, WHEEL and RECORD come by themselves

  MadeWheel& add(std::string member, const std::vector<std::byte>& content);
  std::string file_name() const { return name + "-" + version + "-" + tag + ".whl"; }
  std::vector<std::byte> bytes() const;
};

}  // namespace flashfit::doctor::test
