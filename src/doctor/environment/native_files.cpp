#include "doctor/environment/native_files.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <functional>
#include <set>

#include "core/base/printable.hpp"
#include "doctor/facts/binary_format.hpp"

namespace flashfit::doctor::environment {
namespace {

using dynamic_loader::FileKind;
using dynamic_loader::FileTree;

constexpr std::uint64_t kMostFiles = 2'000'000, kMostSources = 100'000;
constexpr std::size_t kDeepest = 64;     // folders below the first
constexpr std::uint64_t kSmallest = 64;  // bytes: the least header that any reader takes

/// Sorted, for a binary search.
constexpr auto kNoCode = std::to_array<std::string_view>(
    {"bmp",   "c",     "cc",   "cfg", "cmake", "conf", "cpp",   "css",    "csv", "cu",   "cuh", "cxx",      "dat",
     "gif",   "gz",    "h",    "h5",  "hpp",   "html", "hxx",   "icns",   "ico", "in",   "inc", "ini",      "inl",
     "ipynb", "jinja", "jpeg", "jpg", "js",    "json", "jsonl", "ll",     "log", "map",  "mat", "md",       "mdx",
     "mo",    "npy",   "npz",  "otf", "pbtxt", "pdf",  "pem",   "pickle", "pkl", "png",  "po",  "proto",    "pth",
     "pxd",   "pxi",   "py",   "pyc", "pyi",   "pyx",  "rst",   "sh",     "sql", "svg",  "tcl", "template", "toml",
     "ts",    "tsv",   "ttf",  "txt", "typed", "wav",  "woff",  "woff2",  "xml", "yaml", "yml"});

bool may_hold_code(std::string_view name) {
  const std::size_t dot = name.rfind('.');
  if (dot == std::string_view::npos || dot == 0) return true;
  return !std::binary_search(kNoCode.begin(), kNoCode.end(), name.substr(dot + 1));
}

bool is_walked(std::string_view folder) {
  return folder != "__pycache__" && folder != ".git" && folder != "node_modules" && !folder.ends_with(".dist-info") &&
         !folder.ends_with(".egg-info");
}

using Enters = std::function<bool(const std::string& path, const std::string& name)>;

Walked walk(const FileTree& tree, const std::string& top, std::uint64_t most, const Enters& enters) {
  Walked walked;
  struct Folder {
    std::string path;
    std::size_t depth;
  };
  std::vector<Folder> left{{top, 0}};
  std::set<dynamic_loader::FileId> seen;
  while (!left.empty()) {
    const Folder folder = std::move(left.back());
    left.pop_back();
    const auto entries = tree.list_here(folder.path);
    if (!entries) {
      walked.unread.push_back(entries.error().message);
      continue;
    }
    for (const dynamic_loader::Entry& entry : *entries) {
      std::string path = folder.path + "/" + entry.name;
      if (entry.kind == FileKind::kFolder) {
        if (enters(path, entry.name) && folder.depth < kDeepest) left.push_back({std::move(path), folder.depth + 1});
        continue;
      }
      if (++walked.seen > most) {
        walked.unread.push_back(
            fmt::format("{}: more than {} files: the rest was not looked at", printable(top, 300), most));
        return walked;
      }
      if (!may_hold_code(entry.name) || (entry.kind != FileKind::kFile && entry.kind != FileKind::kLink)) continue;
      dynamic_loader::Node node = entry.kind == FileKind::kFile ? tree.look(path) : dynamic_loader::Node{};
      if (entry.kind == FileKind::kLink) {
        dynamic_loader::Resolved to = tree.resolve(path);
        // A link beside its file is another name of it, and the walk comes to that file itself. One that leads out
        // keeps its own name: the hub's cache and some installers keep files elsewhere, under names that tell nothing.
        if (to.path.starts_with(top + "/")) continue;
        node = std::move(to.node);
      }
      const bool too_small = node.size < kSmallest && !doctor::is_named_as_code(path);
      if (node.kind != FileKind::kFile || too_small || !seen.insert(node.id).second) continue;
      walked.files.push_back({std::move(path), node.id, node.size, std::move(node.stamp), node.changed});
    }
  }
  std::sort(walked.files.begin(), walked.files.end(), [](const auto& a, const auto& b) { return a.path < b.path; });
  return walked;
}

}  // namespace

Walked find_native_files(const FileTree& tree, const std::string& top) {
  return walk(tree, top, kMostFiles, [](const std::string&, const std::string& name) { return is_walked(name); });
}

Walked find_native_sources(const FileTree& tree, const std::string& top, const std::string& but) {
  return walk(tree, top, kMostSources, [&](const std::string& path, const std::string& name) {
    return is_walked(name) && !name.starts_with('.') && name != "build" && path != but;
  });
}

}  // namespace flashfit::doctor::environment
