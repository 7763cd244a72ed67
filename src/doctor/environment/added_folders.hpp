#pragma once
// What lies outside of an environment and is imported in it all the same: folders that *.pth files add to sys.path, and
// those of editable installs. Read as text: lines of a *.pth file that begin with "import" would be run by Python, and
// are not followed.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"

namespace flashfit::doctor::environment {

struct AddedFolder {
  std::string path;  ///< in the tree, links followed: a folder, or a compiled module by itself
  std::string by;    ///< the file that says it: ".../site-packages/__editable__.pkg-0.1.pth"
};

/// Of one folder of packages, in the order of names; at most kMostAdded. Taken of editable installs are the paths that
/// setuptools' finder maps packages to and the build folders of meson-python's; those of scikit-build-core lie in the
/// folder of packages itself. What is not there, or holds `folder`, is left out. What was not read adds a line to
/// `unread`; that the folder itself cannot be listed is for who reads its packages to say.
std::vector<AddedFolder> added_folders(const dynamic_loader::FileTree& tree, const std::string& folder,
                                       std::vector<std::string>& unread);

inline constexpr std::size_t kMostAdded = 64;

}  // namespace flashfit::doctor::environment
