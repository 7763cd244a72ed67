#pragma once
// pyenv puts a folder of shims on PATH: scripts of every program's name, which stand for a version's own.
#include <string>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

/// Whether a folder of PATH is one of shims.
bool is_pyenv_shims(const dynamic_loader::FileTree& tree, const std::string& folder);

/// The prefix of the version that the shims lead to: the first of `versions` (PYENV_VERSION, separated by colons), else
/// of .python-version in `here` or the nearest folder above it, else of pyenv's own file, that is installed; "3.11" is
/// the newest 3.11 there is. "" where that is the system's, or none.
/// Source: pyenv's README, "Understanding Python version selection".
std::string pyenv_prefix(const dynamic_loader::FileTree& tree, const std::string& shims, const std::string& versions,
                         const std::string& here);

}  // namespace flashfit::doctor::environment
