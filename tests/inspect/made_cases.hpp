#pragma once
// Files that fit or do not, each for one reason: the cases that the doctor is tried on. inspect_make writes them.
#include <string>
#include <vector>

#include "inspect/made_bytes.hpp"

namespace flashfit::inspect::test {

struct MadeCase {
  std::string name;  ///< of the file
  std::vector<std::byte> content;
};

/// PyTorch and its extensions: docs/doctor.md's field reports, rebuilt small.
std::vector<MadeCase> origin_cases();
/// One file for each thing that can be wrong with a library, a wheel or GPU code.
std::vector<MadeCase> single_cases();

}  // namespace flashfit::inspect::test
