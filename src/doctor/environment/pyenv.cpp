#include "doctor/environment/pyenv.hpp"

#include <fmt/format.h>

#include <charconv>
#include <optional>
#include <vector>

#include "core/base/ascii.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileTree;
using dynamic_loader::is_folder;
using dynamic_loader::parent_of;

constexpr std::uint64_t kMostText = 1 << 12;

/// Versions, as a file lists them: one a line, and comments.
std::optional<std::vector<std::string>> read_versions(const FileTree& tree, const std::string& path) {
  const auto text = dynamic_loader::read_text(tree, path, kMostText);
  if (!text) return std::nullopt;
  std::vector<std::string> versions;
  for (const std::string_view line : split(*text, '\n')) {
    const std::string_view version = trimmed(line.substr(0, line.find('#')));
    if (!version.empty()) versions.emplace_back(version);
  }
  return versions;
}

std::vector<std::string> wanted_versions(const FileTree& tree, const std::string& root, const std::string& versions,
                                         std::string here) {
  std::vector<std::string> wanted;
  for (const std::string_view version : split(versions, ':'))
    if (!version.empty()) wanted.emplace_back(version);
  if (!wanted.empty()) return wanted;
  for (; here.starts_with('/') && here.size() > 1; here = parent_of(here))
    if (auto local = read_versions(tree, here + "/.python-version")) return *std::move(local);
  return read_versions(tree, root + "/version").value_or(std::vector<std::string>());
}

/// The installed version that a name means; "" if none.
std::string installed(const FileTree& tree, const std::string& folder, const std::string& name) {
  if (name.find('/') != std::string::npos || name.starts_with('.')) return "";
  if (is_folder(tree, folder + "/" + name)) return name;
  std::string newest;
  int most = -1;
  for (const dynamic_loader::Entry& entry : tree.list(folder).value_or(std::vector<dynamic_loader::Entry>())) {
    if (!entry.name.starts_with(name + ".")) continue;
    int patch = -1;
    const char* const end = entry.name.data() + entry.name.size();
    if (std::from_chars(entry.name.data() + name.size() + 1, end, patch).ptr == end && patch > most)
      most = patch, newest = entry.name;
  }
  return newest;
}

}  // namespace

bool is_pyenv_shims(const FileTree& tree, const std::string& folder) {
  return folder.ends_with("/shims") && is_folder(tree, parent_of(folder) + "/versions");
}

std::string pyenv_prefix(const FileTree& tree, const std::string& shims, const std::string& versions,
                         const std::string& here) {
  const std::string root = parent_of(shims), folder = root + "/versions";
  for (const std::string& wanted : wanted_versions(tree, root, versions, here)) {
    if (wanted == "system") return "";
    if (const std::string version = installed(tree, folder, wanted); !version.empty())
      return fmt::format("{}/{}", folder, version);
  }
  return "";
}

}  // namespace flashfit::doctor::environment
