#pragma once
// Modules of installed packages that their own Python files never name (doctor/facts/imported_modules.hpp).
#include <vector>

#include "doctor/environment/packages.hpp"

namespace flashfit::doctor::environment {

/// Sets ExtensionFacts::unnamed in the packages' files, by the Python files that RECORD lists: a package without one
/// may name all of its modules.
void find_unnamed_modules(const dynamic_loader::FileTree& tree, std::vector<Package>& packages);

}  // namespace flashfit::doctor::environment
