#pragma once
// Which compiled modules of a wheel its own Python files name: builds leave modules in wheels that nothing imports
// (sgl-kernel's _mscclpp, for one Python in a wheel for all).
#include <vector>

#include "doctor/bytes/zip.hpp"
#include "doctor/facts/facts.hpp"

namespace flashfit::doctor {

/// Sets ExtensionFacts::unnamed of modules for one Python, where the wheel's name promises others and no Python file
/// of it has the module's name as a word. A file that cannot be read may name them all.
void find_unnamed_modules(const Source& zip, const std::vector<ZipMember>& members, Target& target);

}  // namespace flashfit::doctor
