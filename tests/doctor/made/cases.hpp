#pragma once
// Files that fit or do not, each for one reason: the cases that the doctor is tried on. doctor_make writes them.
#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "doctor/made/bytes.hpp"

namespace flashfit::doctor::test {

struct MadeCase {
  std::string name;  ///< of the file
  std::vector<std::byte> content;
};

/// PyTorch and its extensions: docs/doctor.md's field reports, rebuilt small.
std::vector<MadeCase> origin_cases();
/// One file for each thing that can be wrong with a library, a wheel or GPU code.
std::vector<MadeCase> single_cases();

/// Writes the file into a folder that is there. False if it cannot.
inline bool write_case(const MadeCase& one, const std::filesystem::path& folder) {
  std::ofstream file(folder / one.name, std::ios::binary);
  file.write(reinterpret_cast<const char*>(one.content.data()), static_cast<std::streamsize>(one.content.size()));
  return static_cast<bool>(file.flush());
}

}  // namespace flashfit::doctor::test
