#include "doctor/environment/packages.hpp"

#include <map>
#include <optional>
#include <unordered_map>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/python_module.hpp"
#include "doctor/packaging/wheel_name.hpp"

namespace flashfit::doctor::environment {
namespace {

constexpr std::size_t kNobody = SIZE_MAX, kMostShared = 64, kMostGone = 64;
constexpr std::uint64_t kMostNames = 1 << 16;

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

/// Not there, or no file: a link that leads nowhere, a folder. A name that two distributions have, as an update may
/// leave it, tells nothing: which of them is installed is not known.
bool is_gone_module(const dynamic_loader::FileTree& tree, const Package& package, const std::string& path) {
  return package.gone_modules.size() < kMostGone && !package.distribution.doubled &&
         path.find('\\') == std::string::npos && doctor::is_named_as_module(path) &&
         tree.resolve(path).node.kind != dynamic_loader::FileKind::kFile;
}

/// Names that the distributions import by: top_level.txt's, and their own. kNobody: that of several, as "google".
std::map<std::string, std::size_t> imported_names(const dynamic_loader::FileTree& tree,
                                                  const std::vector<Package>& packages,
                                                  const std::vector<std::size_t>& which) {
  std::map<std::string, std::size_t> names;
  const auto add = [&](std::string_view name, std::size_t package) {
    const auto [known, fresh] = names.emplace(lower(name), package);
    if (!fresh && known->second != package) known->second = kNobody;
  };
  for (const std::size_t p : which) {
    const Distribution& d = packages[p].distribution;
    add(doctor::underscored(d.name), p);
    if (const auto text = dynamic_loader::read_text(tree, d.info + "/top_level.txt", kMostNames))
      for (const std::string_view line : split(*text, '\n'))
        if (!trimmed(line).empty()) add(trimmed(line), p);
  }
  return names;
}

/// By the name that a file is imported by: "pkg" of "pkg/lib.so", "module" of "module.abi3.so".
std::size_t owner_by_name(const std::map<std::string, std::size_t>& names, const std::string& relative) {
  const std::string part = first_part(relative);
  const bool alone = part == relative;
  const auto found = names.find(lower(alone ? part.substr(0, part.find('.')) : part));
  return found == names.end() ? kNobody : found->second;
}

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
  std::vector<std::size_t> unrecorded;
  for (std::size_t p = 0; p < packages.size(); ++p) {
    bool has_record = false;
    for_each_recorded(tree, packages[p].distribution, [&](const Recorded& recorded) {
      has_record = true;
      const auto found = number.find(recorded.path);
      if (found == number.end()) {
        if (is_gone_module(tree, packages[p], recorded.path)) packages[p].gone_modules.push_back(recorded.path);
        return;
      }
      Owner& owner = owners[found->second];
      std::size_t other = owner.package;
      owner.take(p, recorded.size, [&] { return tree.resolve(recorded.path).node.size; });
      if (other == kNobody || other == p) return;
      if (other == owner.package) other = p;
      auto& shared = packages[owner.package].shared;
      if (shared.size() < kMostShared) shared.emplace_back(recorded.path, packages[other].distribution.name);
    });
    if (!has_record) unrecorded.push_back(p);
  }
  const auto by_name =
      files.empty() ? std::map<std::string, std::size_t>{} : imported_names(tree, packages, unrecorded);
  std::map<std::string, std::size_t> folders;  // of files that nobody owns
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (files[i].binaries.empty() && files[i].error.empty()) continue;
    if (owners[i].package == kNobody) {
      const std::string relative =
          files[i].path.starts_with(folder + "/") ? files[i].path.substr(folder.size() + 1) : files[i].path;
      owners[i].package = owner_by_name(by_name, relative);
      if (owners[i].package == kNobody) {
        const auto [known, fresh] = folders.emplace(first_part(relative), packages.size());
        if (fresh) packages.push_back({.distribution = {.name = printable(known->first), .folder = folder}});
        owners[i].package = known->second;
      }
    }
    packages[owners[i].package].files.push_back(std::move(files[i]));
  }
  return packages;
}

}  // namespace flashfit::doctor::environment
