#pragma once
// An archive of container images as a target: a report for each image.
#include <string>
#include <vector>

#include "doctor/dynamic_loader/file_tree.hpp"
#include "doctor/examine/examine.hpp"

namespace flashfit::doctor::container {

/// Which parts of a question the user named; the others are the image's own.
struct Named {
  bool python = false, platform = false, glibc = false, torch = false;
};

/// The site-packages and dist-packages folders of a tree, by path; no link is followed. At most kMostSites. What was
/// not looked at adds a line to `unread`.
std::vector<std::string> find_sites(const dynamic_loader::FileTree& tree, std::vector<std::string>& unread);
inline constexpr std::size_t kMostSites = 64;

/// Never fails: what cannot be read is said by FF901. Each image is one target, "ARCHIVE (NAME)", whose binaries are
/// the libraries of its environments' packages. Every folder of packages is judged as an environment with the image
/// around it (environment::look_at): its Python, PyTorch, C library, CUDA and variables; of a part that is named, what
/// is named counts, but for a Python that the folder's own name tells.
std::vector<doctor::TargetReport> examine_images(const std::string& path, const doctor::Question& asked, Named named);

}  // namespace flashfit::doctor::container
