#include "doctor/environment/installed_torch.hpp"

#include <algorithm>

#include "core/base/printable.hpp"
#include "doctor/facts/string_tag.hpp"

namespace flashfit::doctor::environment {
namespace {

/// What a package needs, and what PyTorch would have of the other C++ ABI instead.
void want(const std::vector<std::string>& names, std::unordered_set<std::string>& wanted) {
  for (const std::string& name : names) {
    wanted.insert(name);
    if (std::string other = doctor::other_tag_of(name); !other.empty()) wanted.insert(std::move(other));
  }
}

}  // namespace

std::shared_ptr<const doctor::TorchFacts> installed_torch(const dynamic_loader::FileTree& tree,
                                                          const std::vector<Package>& packages,
                                                          std::vector<std::string>& unread) {
  const auto torch =
      std::find_if(packages.begin(), packages.end(), [](const Package& p) { return p.distribution.name == "torch"; });
  if (torch == packages.end()) return nullptr;
  doctor::TorchFacts facts{.given = torch->distribution.version};
  if (auto version = doctor::parse_version(torch->distribution.version)) facts.version = std::move(*version);
  const std::string folder = torch->distribution.folder + "/torch";
  const std::string version_file = dynamic_loader::read_text(tree, folder + "/version.py", 1 << 16).value_or("");
  // The package index's own builds have their CUDA there alone: METADATA says 2.9.1, and version.py 2.9.1+cu128.
  constexpr std::string_view kAssigned = "__version__ = '";
  if (const std::size_t at = version_file.find(kAssigned); at != std::string::npos) {
    const std::string_view rest = std::string_view(version_file).substr(at + kAssigned.size());
    if (auto version = doctor::parse_version(rest.substr(0, rest.find('\'')))) facts.version = std::move(*version);
  }
  doctor::InstalledTorch installed{.given = torch->distribution.version};
  for (const Package& package : packages)
    for (const FileFacts& file : package.files)
      for (const doctor::Binary& binary : file.binaries)
        if (&package != &*torch) want(binary.extension.torch, installed.wanted);
  if (const auto entries = tree.list(folder + "/lib"))
    for (const dynamic_loader::Entry& entry : *entries) installed.libraries.push_back(entry.name);
  for (const std::string& name : installed.libraries)
    if (name.find(".so") != std::string::npos) facts.libraries.insert(name);
  if (installed.wanted.empty() || installed.libraries.empty())
    return std::make_shared<const doctor::TorchFacts>(std::move(facts));
  installed.version_file = version_file;
  installed.open = [&](const std::string& library) { return tree.open(folder + "/lib/" + library); };
  auto read = doctor::read_installed_torch(installed);
  if (!read) {
    unread.push_back("torch: " + read.error().message);
    return std::make_shared<const doctor::TorchFacts>(std::move(facts));
  }
  auto whole = std::make_shared<doctor::TorchFacts>(**read);
  if (facts.version) whole->version = facts.version;
  return whole;
}

}  // namespace flashfit::doctor::environment
