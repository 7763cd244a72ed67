#include "doctor/environment/packages.hpp"

#include <map>
#include <optional>
#include <unordered_map>

#include "core/base/printable.hpp"

namespace flashfit::doctor::environment {
namespace {

constexpr std::size_t kNobody = SIZE_MAX, kMostShared = 64;

/// "torch" of "torch/lib/libc10.so", "module.so" of "module.so".
std::string first_part(const std::string& relative) { return relative.substr(0, relative.find('/')); }

/// Whose a file is that several packages list: the one's by whose RECORD it has its size, since that one was installed
/// last; the last one's by name where sizes do not tell.
struct Owner {
  std::size_t package = kNobody;
  std::optional<std::uint64_t> size;

  template <class Size>
  void take(std::size_t next, std::optional<std::uint64_t> recorded, Size size_there) {
    if (package != kNobody && package != next && size != recorded && size == size_there()) return;
    package = next;
    size = recorded;
  }
};

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
  std::vector<Owner> owners(files.size());
  for (std::size_t p = 0; p < packages.size() && !files.empty(); ++p)
    for_each_recorded(tree, packages[p].distribution, [&](const Recorded& recorded) {
      const auto found = number.find(recorded.path);
      if (found == number.end()) return;
      Owner& owner = owners[found->second];
      std::size_t other = owner.package;
      owner.take(p, recorded.size, [&] { return tree.resolve(recorded.path).node.size; });
      if (other == kNobody || other == p) return;
      if (other == owner.package) other = p;
      auto& shared = packages[owner.package].shared;
      if (shared.size() < kMostShared) shared.emplace_back(recorded.path, packages[other].distribution.name);
    });
  std::map<std::string, std::size_t> folders;  // of files that nobody owns
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].binaries.empty() && files[i].error.empty()) continue;
    if (owners[i].package == kNobody) {
      const std::string relative =
          files[i].path.starts_with(folder + "/") ? files[i].path.substr(folder.size() + 1) : files[i].path;
      const auto [known, fresh] = folders.emplace(first_part(relative), packages.size());
      if (fresh) packages.push_back({.distribution = {.name = printable(known->first), .folder = folder}});
      owners[i].package = known->second;
    }
    packages[owners[i].package].files.push_back(std::move(files[i]));
  }
  return packages;
}

}  // namespace flashfit::doctor::environment
