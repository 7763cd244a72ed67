#pragma once
// An archive of container images as a target: a report for each image.
#include <string>
#include <vector>

#include "inspect/doctor.hpp"
#include "loader/file_tree.hpp"

namespace flashfit::oci {

/// Which parts of a question the user named; the others are the image's own.
struct Named {
  bool python = false, platform = false, glibc = false, torch = false;
};

/// The site-packages and dist-packages folders of a tree, by path; no link is followed. At most kMostSites.
std::vector<std::string> find_sites(const loader::FileTree& tree);
inline constexpr std::size_t kMostSites = 64;

/// Never fails: what cannot be read is in Target::errors, and Verdict::kUnknown. Each image is one target,
/// "ARCHIVE (NAME)", whose binaries are the libraries of its site-packages; Python is the image's own; system and
/// PyTorch are, where they are not named.
std::vector<inspect::TargetReport> examine_images(const std::string& path, const inspect::Question& asked, Named named);

}  // namespace flashfit::oci
