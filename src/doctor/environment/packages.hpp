#pragma once
// From files to packages: which installed package each file belongs to, by RECORD, else by the folder that it lies in.
#include <string>
#include <vector>

#include "doctor/environment/distributions.hpp"
#include "doctor/environment/file_facts.hpp"

namespace flashfit::doctor::environment {

/// An installed package with its machine code, or a folder of files that no package owns.
struct Package {
  Distribution distribution;  ///< of files that no package owns: `name` is their folder's, the rest is ""
  std::vector<FileFacts> files;
  /// The last name parts of files that it shares with another package, which one of them overwrote: {path, package}.
  std::vector<std::pair<std::string, std::string>> shared;
  /// Files named as compiled modules that RECORD lists and that are no files: paths in the tree.
  std::vector<std::string> gone_modules;

  /// The file's path as it is below the folder of packages: "flash_attn_2_cuda.cpython-311-x86_64-linux-gnu.so".
  std::string relative(const std::string& path) const;
  /// relative() of all its files.
  std::vector<std::string> relative_paths() const;
};

/// Takes the files; every distribution comes back, those without machine code too. `folder`: the folder of packages. Of
/// a distribution without RECORD, as Linux distributions and eggs are, are the files below the names that it imports
/// by.
std::vector<Package> to_packages(const dynamic_loader::FileTree& tree, std::vector<Distribution> distributions,
                                 const std::string& folder, std::vector<FileFacts> files);

}  // namespace flashfit::doctor::environment
