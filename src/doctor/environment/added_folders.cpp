#include "doctor/environment/added_folders.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "core/base/ascii.hpp"
#include "core/base/printable.hpp"
#include "doctor/packaging/python_module.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;

constexpr std::uint64_t kMostText = 1 << 18;
constexpr std::size_t kMostFiles = 256, kMostTexts = 4096;

/// The texts of Python's string literals behind `from`, without those that have an escape: paths have none here.
std::vector<std::string> literals(std::string_view text, std::size_t from, std::size_t end) {
  std::vector<std::string> found;
  for (std::size_t at = from; at < end && found.size() < kMostTexts; ++at) {
    if (text[at] != '\'' && text[at] != '"') continue;
    const std::size_t close = text.find(text[at], at + 1);
    if (close == std::string_view::npos || close >= end) break;
    const std::string_view literal = text.substr(at + 1, close - at - 1);
    if (literal.find_first_of("\\\n") == std::string_view::npos) found.emplace_back(literal);
    at = close;
  }
  return found;
}

/// Behind `mark`, which begins with the end of a line; to the line's end, or to that of the text.
std::vector<std::string> literals_behind(std::string_view text, std::string_view mark, bool one_line) {
  const std::size_t at = text.rfind(mark);
  if (at == std::string_view::npos) return {};
  const std::size_t end = one_line ? std::min(text.find('\n', at + 1), text.size()) : text.size();
  return literals(text, at + mark.size(), end);
}

std::vector<std::string> lines_of_pth(std::string_view text, const std::string& folder) {
  std::vector<std::string> paths;
  for (std::string_view line : split(text, '\n')) {
    line = trimmed(line);
    if (line.empty() || line.front() == '#' || line.starts_with("import ") || line.starts_with("import\t")) continue;
    if (paths.size() == kMostTexts) break;
    paths.push_back(line.front() == '/' ? std::string(line) : dynamic_loader::join(folder, line));
  }
  return paths;
}

std::vector<std::string> paths_in(const std::string& name, std::string_view text, const std::string& folder) {
  if (name.ends_with(".pth")) return lines_of_pth(text, folder);
  if (name.starts_with("__editable__") && name.ends_with("_finder.py")) return literals_behind(text, "\nMAPPING", true);
  if (name.starts_with('_') && name.ends_with("_editable_loader.py")) return literals_behind(text, "\ninstall(", false);
  return {};
}

bool may_add(const std::string& name) {
  return name.ends_with(".pth") || name.ends_with("_finder.py") || name.ends_with("_editable_loader.py");
}

}  // namespace

std::vector<AddedFolder> added_folders(const FileTree& tree, const std::string& folder,
                                       std::vector<std::string>& unread) {
  std::vector<AddedFolder> added;
  const auto entries = tree.list(folder);
  if (!entries) return added;
  std::size_t files = 0;
  for (const dynamic_loader::Entry& entry : *entries) {
    if (!may_add(entry.name) || entry.name.starts_with('.')) continue;
    if (++files > kMostFiles) {
      unread.push_back(fmt::format("{}: more than {} files that may add folders to it: the others were not read",
                                   printable(folder), kMostFiles));
      break;
    }
    const std::string by = folder + "/" + entry.name;
    const auto text = dynamic_loader::read_text(tree, by, kMostText);
    if (!text) {
      unread.push_back(printable(by) + ": " + text.error().message);
      continue;
    }
    const std::vector<std::string> paths = paths_in(entry.name, *text, folder);
    if (paths.size() >= kMostTexts)
      unread.push_back(fmt::format("{}: names {} paths or more: the others were not read", printable(by), kMostTexts));
    for (const std::string& path : paths) {
      if (!path.starts_with('/')) continue;
      const dynamic_loader::Resolved at = tree.resolve(path);
      const bool module = at.node.kind == FileKind::kFile && doctor::parse_python_module(at.path);
      if (at.node.kind != FileKind::kFolder && !module) continue;
      // Neither the folder itself nor one above it, of which the root is the greatest.
      if (at.path == "/" || at.path == folder || folder.starts_with(at.path + "/")) continue;
      const bool known = std::any_of(added.begin(), added.end(), [&](const auto& one) { return one.path == at.path; });
      if (known) continue;
      if (added.size() == kMostAdded) {
        unread.push_back(fmt::format("{}: more than {} folders are added to it, from {} on: they were not read",
                                     printable(folder), kMostAdded, printable(by)));
        return added;
      }
      added.push_back({at.path, by});
    }
  }
  return added;
}

}  // namespace flashfit::doctor::environment
