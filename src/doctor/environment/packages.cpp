#include "doctor/environment/packages.hpp"

#include <map>
#include <unordered_map>

#include "core/base/printable.hpp"

namespace flashfit::doctor::environment {
namespace {

constexpr std::size_t kNobody = SIZE_MAX, kMostShared = 64;

/// "torch" of "torch/lib/libc10.so", "module.so" of "module.so".
std::string first_part(const std::string& relative) { return relative.substr(0, relative.find('/')); }

}  // namespace

std::string Package::relative(const std::string& path) const {
  const std::string& folder = distribution.folder;
  return path.starts_with(folder + "/") ? path.substr(folder.size() + 1) : path;
}

std::vector<std::string> Package::relative_paths() const {
  std::vector<std::string> paths;
  for (const FileFacts& file : files) paths.push_back(relative(file.path));
  return paths;
}

std::vector<Package> to_packages(const dynamic_loader::FileTree& tree, std::vector<Distribution> distributions,
                                 const std::string& folder, std::vector<FileFacts> files) {
  std::vector<Package> packages;
  packages.reserve(distributions.size());
  for (Distribution& d : distributions) packages.push_back({.distribution = std::move(d)});
  std::unordered_map<std::string_view, std::size_t> number;
  for (std::size_t i = 0; i < files.size(); ++i) number.emplace(files[i].path, i);
  std::vector<std::size_t> owner(files.size(), kNobody);
  for (std::size_t p = 0; p < packages.size() && !files.empty(); ++p)
    for_each_recorded(tree, packages[p].distribution, [&](const std::string& path) {
      const auto found = number.find(path);
      if (found == number.end()) return;
      std::size_t& by = owner[found->second];
      if (by != kNobody && by != p && packages[p].shared.size() < kMostShared)
        packages[p].shared.emplace_back(path, packages[by].distribution.name);
      by = p;
    });
  std::map<std::string, std::size_t> folders;  // of files that nobody owns
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].binaries.empty() && files[i].error.empty()) continue;
    if (owner[i] == kNobody) {
      const std::string relative =
          files[i].path.starts_with(folder + "/") ? files[i].path.substr(folder.size() + 1) : files[i].path;
      const auto [known, fresh] = folders.emplace(first_part(relative), packages.size());
      if (fresh) packages.push_back({.distribution = {.name = printable(known->first), .folder = folder}});
      owner[i] = known->second;
    }
    packages[owner[i]].files.push_back(std::move(files[i]));
  }
  return packages;
}

}  // namespace flashfit::doctor::environment
