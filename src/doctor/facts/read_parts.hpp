#pragma once
// The files of an archive or a folder, read side by side.
#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "doctor/facts/read_target.hpp"

namespace flashfit::doctor {

/// What one file gives.
struct Part {
  std::vector<Binary> binaries;
  std::string error;     ///< in words that name the file; "" if there is none
  bool package = false;  ///< a package of its own, which the caller reads
};

/// Calls read(i) for each of the files, whose `sizes` these are: the largest first, as it alone decides how long the
/// whole takes. Adds their binaries and the first errors to `target`, in the files' order. Returns which are packages.
std::vector<std::size_t> read_parts(const std::vector<std::uint64_t>& sizes,
                                    const std::function<Part(std::size_t)>& read, const Progress& progress,
                                    Target& target);

}  // namespace flashfit::doctor
