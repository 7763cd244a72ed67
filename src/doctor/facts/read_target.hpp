#pragma once
// From a path to facts: files, wheels, source distributions and whole trees.
#include <functional>
#include <string>
#include <vector>

#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// Called now and then, from any thread: bytes read so far of those to read.
using Progress = std::function<void(std::uint64_t done, std::uint64_t all)>;

/// One file. Never fails: what cannot be read is in Target::errors.
Target read_file(const std::string& path, const Progress& progress = {});

/// A folder with all that lies in it as one target, but for wheels and source distributions, whose paths are added to
/// `packages`: they are targets of their own. Links to folders are not followed, links to files are; a file of several
/// names is read once; pipes and devices are left out.
Target read_directory(const std::string& path, std::vector<std::string>& packages, const Progress& progress = {});

}  // namespace flashfit::doctor
